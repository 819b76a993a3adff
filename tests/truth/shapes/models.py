"""Models, as classes and as expressions."""

from __future__ import annotations

from dataclasses import dataclass

from .draft import Block, Draft


@dataclass
class Model:
    """How a model is made, and what it needs before."""

    definition: Block
    expression: str


def model(draft: Draft, inputs: str, outputs: str, ending: str = "", name: str = "") -> Model:
    """A model of vectors. `ending`: what is computed of the last layer, such as `torch.sigmoid({})`."""
    if draft.has("softmax in model"):
        ending = ending or "torch.softmax({}, dim=1)"
    kinds = {"sequential": 3, "class": 5, "stack": 3, "parts": 3, "functional": 3, "block": 2, "named": 2, "factory": 2,
             "residual": 2, "norm": 2, "inherits": 2, "shared": 1, "conv": 2}
    kind = draft.weighted(kinds)
    if draft.has("plain list"):
        kind = "stack"
    elif draft.has("detach features"):
        kind = "parts"
    elif draft.has("functional dropout"):
        kind = "functional"
    elif draft.has("no super"):
        kind = "class"
    write = {
        "sequential": _sequential, "class": _plain, "stack": _stack, "parts": _parts, "functional": _functional,
        "block": _block, "named": _named, "factory": _factory, "residual": _residual, "norm": _norm,
        "inherits": _inherits, "shared": _shared, "conv": _conv,
    }[kind]
    return write(draft, inputs, outputs, ending, name or draft.pick("Net", "MLP", "Classifier", "Model"))


def _between(draft: Draft) -> str:
    return draft.pick("", "nn.Dropout(0.5), ", "nn.BatchNorm1d(16), ", "nn.LayerNorm(16), ", "nn.Dropout(p=0.1), ")


def _activation(draft: Draft) -> str:
    return draft.pick("nn.ReLU()", "nn.Tanh()", "nn.GELU()", "nn.LeakyReLU(0.2)", "nn.Sigmoid()", "nn.ELU()", "nn.SiLU()")


def _function(draft: Draft) -> str:
    return draft.pick("torch.relu({})", "F.relu({})", "torch.tanh({})", "F.gelu({})", "F.leaky_relu({}, 0.1)", "{}.relu()", "F.elu({})")


def _ended(ending: str, value: str) -> str:
    return ending.format(value) if ending else value


def _layer_ending(ending: str) -> str:
    if "softmax" in ending:
        return ", nn.Softmax(dim=1)"
    return ", nn.Sigmoid()" if "sigmoid" in ending else ", nn.Tanh()" if "tanh" in ending else ""


def _class(name: str, arguments: str, init: Block, forward: Block, draft: Draft, base: str = "nn.Module", more: Block | None = None) -> Block:
    start = [] if draft.has("no super") else [draft.pick("super().__init__()", "super().__init__()", f"super({name}, self).__init__()")]
    head = f"def __init__(self{', ' + arguments if arguments else ''}):"
    return [f"class {name}({base}):", [head, [*start, *init], "", *(more or []), "def forward(self, x):", forward], "", ""]


def _arguments(draft: Draft, inputs: str, outputs: str) -> tuple[str, str, str, str, str]:
    """Parameters of a constructor, the sizes in it, and the arguments of a call."""
    if draft.maybe(0.5):
        return "inputs, hidden, outputs", "inputs", "hidden", "outputs", f"{inputs}, 16, {outputs}"
    if draft.maybe(0.4):
        return f"inputs={inputs}, hidden=16, outputs={outputs}", "inputs", "hidden", "outputs", draft.pick("", f"outputs={outputs}")
    return "", inputs, "16", outputs, ""


def _sequential(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    layers = f"nn.Linear({inputs}, 16), {_between(draft)}{_activation(draft)}, nn.Linear(16, {outputs}){_layer_ending(ending)}"
    if draft.maybe(0.3):
        return Model([], f"nn.Sequential(*[{layers}])")
    if draft.maybe(0.2):
        layers = f"('first', nn.Linear({inputs}, 16)), ('act', {_activation(draft)}), ('last', nn.Linear(16, {outputs}))"
        draft.imports.add("from collections import OrderedDict")
        return Model([], f"nn.Sequential(OrderedDict([{layers}]))")
    return Model([], f"nn.Sequential({layers})")


def _plain(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    arguments, i, h, o, given = _arguments(draft, inputs, outputs)
    between = _between(draft).replace("16", h)
    init: Block = [f"self.layers = nn.Sequential(nn.Linear({i}, {h}), {between}{_activation(draft)}, nn.Linear({h}, {o}))"]
    forward: Block = draft.pick([f"return {_ended(ending, 'self.layers(x)')}"], ["out = self.layers(x)", f"return {_ended(ending, 'out')}"])
    return Model(_class(name, arguments, init, forward, draft), f"{name}({given})")


def _stack(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    layers = draft.pick("[nn.Linear(16, 16) for _ in range(2)]", "[nn.Linear(16, 16), nn.Linear(16, 16)]")
    box = layers if draft.has("plain list") else f"nn.ModuleList({layers})"
    init: Block = [f"self.first, self.last = nn.Linear({inputs}, 16), nn.Linear(16, {outputs})", f"self.middle = {box}"]
    if draft.maybe(0.4) and not draft.has("plain list"):
        init[1] = "self.middle = nn.ModuleList()"
        init += ["for _ in range(2):", ["self.middle.append(nn.Linear(16, 16))"]]
    loop: Block = draft.pick(["for layer in self.middle:"], ["for i, layer in enumerate(self.middle):"])
    forward: Block = ["x = self.first(x)", *loop, [f"x = {_function(draft).format('layer(x)')}"], f"return {_ended(ending, 'self.last(x)')}"]
    return Model(_class(name, "", init, forward, draft), f"{name}()")


def _parts(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    cut = ""
    if draft.has("detach features"):
        cut = draft.pick(".detach()", ".data")
    init: Block = [
        f"self.body = nn.Sequential(nn.Linear({inputs}, 16), {_between(draft)}{_activation(draft)})",
        f"self.head = nn.Linear(16, {outputs})",
    ]
    more: Block = ["def features(self, x):", [f"return self.body(x){cut}"], ""]
    forward: Block = [f"return {_ended(ending, 'self.head(self.features(x))')}"]
    return Model(_class(name, "", init, forward, draft, more=more), f"{name}()")


def _functional(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    training = "" if draft.has("functional dropout") else draft.pick(", training=self.training", ", 0.2, self.training")
    p = "" if training.startswith(", 0") else ", 0.5"
    init: Block = [f"self.fc1 = nn.Linear({inputs}, 16)", f"self.fc2 = nn.Linear(16, {outputs})"]
    forward: Block = [f"x = {_function(draft).format('self.fc1(x)')}", f"x = F.dropout(x{p}{training})", f"return {_ended(ending, 'self.fc2(x)')}"]
    return Model(_class(name, "", init, forward, draft), f"{name}()")


def _block(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    block = _class("Block", "width", ["self.fc = nn.Linear(width, width)", "self.norm = nn.LayerNorm(width)"],
                   [f"return x + {_function(draft).format('self.fc(self.norm(x))')}"], draft)
    depth = draft.pick("2", "3")
    init: Block = [f"self.first = nn.Linear({inputs}, 16)", f"self.blocks = nn.Sequential(*[Block(16) for _ in range({depth})])", f"self.last = nn.Linear(16, {outputs})"]
    forward: Block = [f"return {_ended(ending, 'self.last(self.blocks(self.first(x)))')}"]
    return Model([*block, *_class(name, "", init, forward, draft)], f"{name}()")


def _named(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    init: Block = [f"self.layers = nn.ModuleDict({{'first': nn.Linear({inputs}, 16), 'last': nn.Linear(16, {outputs})}})"]
    forward: Block = [f"x = {_function(draft).format(chr(39).join(['self.layers[', 'first', '](x)']))}", f"return {_ended(ending, chr(39).join(['self.layers[', 'last', '](x)']))}"]
    return Model(_class(name, "", init, forward, draft), f"{name}()")


def _factory(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    body: Block = ["layers = []", "for a, b in zip(sizes[:-2], sizes[1:-1]):", [f"layers += [nn.Linear(a, b), {_activation(draft)}]"], "layers.append(nn.Linear(sizes[-2], sizes[-1]))"]
    if _layer_ending(ending):
        body.append(f"layers.append({_layer_ending(ending)[2:]})")
    return Model(["def make_model(sizes):", [*body, "return nn.Sequential(*layers)"], "", ""], f"make_model([{inputs}, 16, 16, {outputs}])")


def _residual(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    init: Block = [f"self.skip = nn.Linear({inputs}, {outputs}, bias=False)", f"self.deep = nn.Sequential(nn.Linear({inputs}, 16), {_activation(draft)}, nn.Linear(16, {outputs}))",
                   f"self.scale = nn.Parameter(torch.{draft.pick('ones', 'zeros')}({draft.pick('1', outputs)}))"]
    forward: Block = [f"return {_ended(ending, '(self.skip(x) + self.scale * self.deep(x))')}"]
    return Model(_class(name, "", init, forward, draft), f"{name}()")


def _norm(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    init: Block = [f"self.register_buffer('mean', torch.zeros({inputs}))", f"self.fc1 = nn.Linear({inputs}, 16)", "self.bn = nn.BatchNorm1d(16)", f"self.fc2 = nn.Linear(16, {outputs})"]
    forward: Block = ["x = x - self.mean", f"x = {_function(draft).format('self.bn(self.fc1(x))')}", f"return {_ended(ending, 'self.fc2(x)')}"]
    return Model(_class(name, "", init, forward, draft), f"{name}()")


def _inherits(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    base: Block = ["class BaseModel(nn.Module):", ["def __init__(self):", ["super().__init__()", f"self.body = nn.Linear({inputs}, 16)"], "", "def embed(self, x):", [f"return {_function(draft).format('self.body(x)')}"]], "", ""]
    own = _class(name, "", [f"self.head = nn.Linear(16, {outputs})"], [f"return {_ended(ending, 'self.head(self.embed(x))')}"], draft, base="BaseModel")
    return Model([*base, *own], f"{name}()")


def _shared(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    init: Block = [f"self.first = nn.Linear({inputs}, 16)", "self.step = nn.Linear(16, 16)", f"self.last = nn.Linear(16, {outputs})"]
    forward: Block = ["h = self.first(x)", "for _ in range(3):", [f"h = {_function(draft).format('self.step(h)')}"], f"return {_ended(ending, 'self.last(h)')}"]
    return Model(_class(name, "", init, forward, draft), f"{name}()")


def _conv(draft: Draft, inputs: str, outputs: str, ending: str, name: str) -> Model:
    init: Block = [f"self.conv = nn.Conv1d(1, 4, kernel_size=3, padding=1)", "self.pool = nn.MaxPool1d(2)", f"self.fc = nn.Linear({inputs} // 2 * 4, {outputs})"]
    forward: Block = ["x = x.unsqueeze(1)", f"x = self.pool({_function(draft).format('self.conv(x)')})", draft.pick("x = x.flatten(1)", "x = torch.flatten(x, 1)", "x = x.view(x.size(0), -1)"), f"return {_ended(ending, 'self.fc(x)')}"]
    return Model(_class(name, "", init, forward, draft), f"{name}()")
