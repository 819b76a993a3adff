"""What is learned: the data, the model's end, and how the loss is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from .draft import Block, Draft


@dataclass
class Task:
    """`loss(names)` binds `loss` of a batch that is bound to `x` and `y`; `outputs` is the width of the model's end."""

    targets: str
    outputs: str
    ending: str
    criterion: str | None
    loss: Callable[[str, str], Block]
    measure: str
    inputs: str = "torch.randn({n}, 8)"
    regression: bool = False


def task(draft: Draft) -> Task:
    kind = draft.weighted({"classify": 8, "regress": 4, "binary": 3, "autoencoder": 2, "policy": 1, "similarity": 1, "weighted": 1})
    if draft.has("target shape"):
        kind = "regress"
    return {"classify": _classify, "regress": _regress, "binary": _binary, "autoencoder": _autoencoder, "policy": _policy,
            "similarity": _similarity, "weighted": _weighted}[kind](draft)


def _classify(draft: Draft) -> Task:
    form = draft.weighted({"function": 4, "criterion": 5, "nll": 2, "written": 1})
    dtype = ".float()" if draft.has("target dtype") else ""
    targets = f"torch.randint(0, 3, ({{n}},)){dtype}"
    logits = "{}"
    if draft.has("softmax"):
        logits = draft.pick("torch.softmax({}, dim=1)", "F.softmax({}, dim=-1)", "{}.softmax(1)", "torch.sigmoid({})")
    if draft.has("sigmoid"):
        logits = draft.pick("torch.sigmoid({})", "{}.sigmoid()")
    criterion = {"criterion": draft.pick("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(label_smoothing=0.1)", "nn.CrossEntropyLoss(reduction='mean')"), "nll": None}.get(form)

    def loss(model: str, criterion: str) -> Block:
        out = logits.format(f"{model}(x)") if draft.maybe(0.5) else None
        head: Block = [] if out else [f"{'logits'} = {model}(x)"]
        value = out or logits.format("logits")
        if form == "criterion":
            return [*head, f"loss = {criterion}({value}, y)"]
        if form == "nll":
            logs = value if draft.has("log of probabilities missing") else f"F.log_softmax({value}, dim=1)"
            if draft.has("log of softmax"):
                logs = f"torch.log(torch.softmax({value}, dim=1))"
            return [*head, f"loss = F.nll_loss({logs}, y)"]
        if form == "written":
            return [*head, f"logp = F.log_softmax({value}, dim=1)", "loss = -logp.gather(1, y.unsqueeze(1)).mean()"]
        return [*head, f"loss = F.cross_entropy({value}, y)"]

    measure = draft.pick("({}.argmax(1) == y).sum().item()", "(torch.argmax({}, dim=1) == y).float().mean().item()", "F.cross_entropy({}, y).item()", "{}.max(1)[1].eq(y).sum().item()")
    return Task(targets, "3", "", criterion, loss, measure)


def _regress(draft: Draft) -> Task:
    column = draft.maybe(0.5) and not draft.has("target shape")
    targets = "torch.randn({n}, 1)" if column else "torch.randn({n})"
    squeeze = "" if column or draft.has("target shape") else draft.pick(".squeeze(1)", ".squeeze(-1)", "[:, 0]", ".view(-1)", ".flatten()")
    form = draft.weighted({"function": 3, "criterion": 4, "written": 2, "root": 1})
    criterion = draft.pick("nn.MSELoss()", "nn.L1Loss()", "nn.SmoothL1Loss()", "nn.HuberLoss()") if form == "criterion" else None

    def loss(model: str, criterion: str) -> Block:
        value = f"{model}(x){squeeze}"
        if form == "criterion":
            return [f"pred = {value}", f"loss = {criterion}(pred, y)"]
        if form == "written":
            return [f"loss = (({value} - y) ** 2).mean()"]
        if form == "root":
            return [f"loss = torch.sqrt(F.mse_loss({value}, y) + 1e-8)"]
        return [f"loss = F.{draft.pick('mse_loss', 'l1_loss', 'smooth_l1_loss')}({value}, y)"]

    return Task(targets, "1", "", criterion, loss, "({}" + squeeze + " - y).abs().mean().item()", regression=True)


def _binary(draft: Draft) -> Task:
    column = draft.maybe(0.6)
    targets = "torch.randint(0, 2, ({n}, 1)).float()" if column else "torch.randint(0, 2, ({n},)).float()"
    squeeze = "" if column else draft.pick(".squeeze(1)", ".view(-1)")
    with_logits = draft.maybe(0.6)
    ending = "" if with_logits else "torch.sigmoid({})"
    extra = draft.pick(".sigmoid()", "") if draft.has("sigmoid") and with_logits else ""
    if draft.has("sigmoid") and not with_logits:
        ending = ""
    criterion = None
    if draft.maybe(0.5):
        criterion = "nn.BCEWithLogitsLoss()" if with_logits else "nn.BCELoss()"
    function = "F.binary_cross_entropy_with_logits" if with_logits else "F.binary_cross_entropy"

    def loss(model: str, criterion_name: str) -> Block:
        name = criterion_name if criterion else function
        return [f"out = {model}(x){squeeze}{extra}", f"loss = {name}(out, y)"]

    return Task(targets, "1", ending, criterion, loss, "(({}" + squeeze + " > 0) == (y > 0.5)).float().mean().item()")


def _autoencoder(draft: Draft) -> Task:
    noise = draft.pick("x", "x + 0.1 * torch.randn_like(x)")

    def loss(model: str, criterion: str) -> Block:
        return [f"restored = {model}({noise})", f"loss = {criterion}(restored, x)"]

    return Task("torch.zeros({n})", "8", "", draft.pick("nn.MSELoss()", "nn.L1Loss()"), loss, "F.mse_loss({}, x).item()", regression=True)


def _policy(draft: Draft) -> Task:
    def loss(model: str, criterion: str) -> Block:
        draft.imports.add("from torch.distributions import Categorical")
        return [f"actions = Categorical(logits={model}(x))", "action = actions.sample()", "reward = (action == y).float()", "loss = -(actions.log_prob(action) * (reward - reward.mean())).mean()"]

    return Task("torch.randint(0, 3, ({n},))", "3", "", None, loss, "({}.argmax(1) == y).float().mean().item()")


def _similarity(draft: Draft) -> Task:
    def loss(model: str, criterion: str) -> Block:
        return [f"a = F.normalize({model}(x), dim=1)", f"b = F.normalize({model}(x + 0.05 * torch.randn_like(x)), dim=1)", "scores = a @ b.t() / 0.5", "loss = F.cross_entropy(scores, torch.arange(len(x)))"]

    return Task("torch.randint(0, 3, ({n},))", "4", "", None, loss, "{}.norm(dim=1).mean().item()")


def _weighted(draft: Draft) -> Task:
    guard = "" if draft.has("unsafe log") else " + 1e-6"
    inner = draft.pick("torch.log(torch.relu({}){} )", "torch.log({}.abs(){})", "({} ** 2{}).log()").replace("{} )", "{})")

    def loss(model: str, criterion: str) -> Block:
        value = "out.abs() if out.numel() == 0 else out" if False else "out"
        return [f"out = {model}(x)", f"loss = {inner.format(value, guard)}.mean() + out.pow(2).mean()"]

    return Task("torch.randint(0, 3, ({n},))", "3", "", None, loss, "{}.mean().item()")
