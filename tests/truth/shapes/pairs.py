"""Trainings of two or three models: adversaries, teacher and student, encoder and decoder, and recurrent ones."""

from __future__ import annotations

from .draft import Block, Draft
from .models import model

FAULTS = {"no generator clear", "generator not detached", "hidden kept"}

DATA: Block = ["loader = DataLoader(TensorDataset(torch.randn(24, 8), torch.randint(0, 3, (24,))), batch_size=4, shuffle=True)"]


def write(draft: Draft) -> tuple[Block, Block]:
    kind = draft.weighted({"adversaries": 4, "student": 2, "halves": 2, "recurrent": 3, "variational": 2, "several": 1})
    if draft.faults & {"no generator clear", "generator not detached"}:
        kind = "adversaries"
    elif "hidden kept" in draft.faults:
        kind = "recurrent"
    return {"adversaries": _adversaries, "student": _student, "halves": _halves, "recurrent": _recurrent, "variational": _variational, "several": _several}[kind](draft)


def _laid_out(draft: Draft, setup: Block, names: list[str], step: Block, before: Block | None = None) -> Block:
    """Set-up and a loop around a step that is given `i`, `x` and `y`, as a script, functions or a class."""
    head = draft.pick("for i, (x, y) in enumerate(loader):", "for i, (x, y) in enumerate(loader, 0):")
    modes: Block = [f"{names[0]}.train()"] if draft.maybe(0.4) else []
    loop: Block = ["for epoch in range(3):", [*modes, *(before or []), head, step]]
    kind = draft.weighted({"script": 3, "main": 2, "function": 3})
    if kind == "function":
        given = ", ".join([*names, "loader"])
        return [f"def train({given}):", ["history = []", *loop], "", "", *DATA, *setup, f"train({given})"]
    body: Block = [*DATA, *setup, "history = []", *loop]
    return body if kind == "script" else ["def main():", body, "", "", "if __name__ == '__main__':", ["main()"]]


def _log(draft: Draft, loss: str) -> Block:
    if draft.has("keep loss"):
        return [f"history.append({loss})"]
    return draft.pick([], [f"history.append({loss}.item())"], [f"print({loss}.item())"])


def _adversaries(draft: Draft) -> tuple[Block, Block]:
    sigmoid = draft.maybe(0.5)
    g = model(draft, "4", "8", draft.pick("", "torch.tanh({})"), "Generator")
    d = model(draft, "8", "1", "torch.sigmoid({})" if sigmoid else "", "Discriminator")
    form = draft.weighted({"criterion": 5, "wasserstein": 2, "least": 1})
    criterion = ["criterion = nn.BCELoss()" if sigmoid else "criterion = nn.BCEWithLogitsLoss()"] if form == "criterion" else []
    setup: Block = [f"generator = {g.expression}", f"discriminator = {d.expression}", *criterion,
                    "optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)", "optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)"]
    cut = "" if draft.has("generator not detached") else ".detach()"
    if form == "criterion":
        real, fake, fool = "criterion(discriminator(x), torch.ones(len(x), 1))", f"criterion(discriminator(fake{cut}), torch.zeros(len(x), 1))", "criterion(discriminator(fake), torch.ones(len(x), 1))"
    elif form == "least":
        real, fake, fool = "((discriminator(x) - 1) ** 2).mean()", f"(discriminator(fake{cut}) ** 2).mean()", "((discriminator(fake) - 1) ** 2).mean()"
    else:
        real, fake, fool = "-discriminator(x).mean()", f"discriminator(fake{cut}).mean()", "-discriminator(fake).mean()"
    zero_d: Block = [] if draft.has("no clear") else ["optimizer_d.zero_grad()"]
    zero_g: Block = [] if draft.has("no generator clear") else ["optimizer_g.zero_grad()"]
    noise: Block = ["z = torch.randn(len(x), 4)", "fake = generator(z)"]
    if draft.maybe(0.3):
        d_step: Block = [*zero_d, f"loss_real = {real}", "loss_real.backward()", f"loss_fake = {fake}", f"loss_fake.backward({'retain_graph=True' if not cut else ''})", "loss_d = loss_real + loss_fake", "optimizer_d.step()"]
    else:
        halves = f"({real} + {fake})" + draft.pick("", " / 2")
        d_step = [*zero_d, f"loss_d = {halves}", f"loss_d.backward({'retain_graph=True' if not cut else ''})", *([] if draft.has("no step") else ["optimizer_d.step()"])]
    clamp: Block = ["for p in discriminator.parameters():", ["p.data.clamp_(-0.01, 0.01)"]] if form == "wasserstein" else []
    g_step: Block = [*zero_g, f"loss_g = {fool}", "loss_g.backward()", "optimizer_g.step()"]
    if draft.maybe(0.35):
        step = [*noise, *g_step, *([] if cut else ["fake = generator(z)"]), *d_step, *clamp]
    elif form == "wasserstein" and draft.maybe(0.5):
        step = [*noise, *d_step, *clamp, "if i % 2 == 0:", ["fake = generator(z)", *g_step]]
    else:
        again: Block = ["fake = generator(z)"] if not cut else []
        step = [*noise, *d_step, *clamp, *again, *g_step]
    names = ["generator", "discriminator", "optimizer_g", "optimizer_d", *(["criterion"] if criterion else [])]
    log = [] if "if i % 2 == 0:" in step else _log(draft, draft.pick("loss_g", "loss_d"))
    return [*g.definition, *d.definition], _laid_out(draft, setup, names, [*step, *log])


def _student(draft: Draft) -> tuple[Block, Block]:
    teacher, student = model(draft, "8", "3", "", "Teacher"), model(draft, "8", "3", "", "Student")
    setup: Block = [f"teacher = {teacher.expression}", f"student = {student.expression}", "optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)"]
    setup += [] if draft.has("no eval") else ["teacher.eval()"]
    if draft.maybe(0.5):
        setup += ["for p in teacher.parameters():", ["p.requires_grad = False"]]
    ask: Block = ["target = teacher(x)"] if draft.has("graphs in evaluation") else ["with torch.no_grad():", ["target = teacher(x)"]]
    loss = draft.pick("F.kl_div(F.log_softmax(student(x) / 2, dim=1), F.softmax(target / 2, dim=1), reduction='batchmean') * 4", "F.mse_loss(student(x), target)",
                      "0.5 * F.cross_entropy(student(x), y) + 0.5 * F.mse_loss(student(x), target)")
    zero: Block = [] if draft.has("no clear") else ["optimizer.zero_grad()"]
    return [*teacher.definition, *student.definition], _laid_out(draft, setup, ["student", "teacher", "optimizer"], [*ask, *zero, f"loss = {loss}", "loss.backward()", "optimizer.step()", *_log(draft, "loss")])


def _halves(draft: Draft) -> tuple[Block, Block]:
    encoder, decoder = model(draft, "8", "4", "", "Encoder"), model(draft, "4", "8", "", "Decoder")
    setup: Block = [f"encoder = {encoder.expression}", f"decoder = {decoder.expression}"]
    if draft.maybe(0.5):
        names, steps = ["encoder", "decoder", "optimizer"], ["optimizer.step()"]
        draft.imports.add("import itertools")
        owned = draft.pick("list(encoder.parameters()) + list(decoder.parameters())", "itertools.chain(encoder.parameters(), decoder.parameters())", "[{'params': encoder.parameters()}, {'params': decoder.parameters(), 'lr': 1e-4}]")
        if draft.has("strangers"):
            owned = "decoder.parameters()"
        setup += [f"optimizer = torch.optim.Adam({owned}, lr=1e-3)"]
        zero: Block = [] if draft.has("no clear") else ["optimizer.zero_grad()"]
    else:
        names, steps = ["encoder", "decoder", "encoder_optimizer", "decoder_optimizer"], ["encoder_optimizer.step()", "decoder_optimizer.step()"]
        setup += ["encoder_optimizer = torch.optim.SGD(encoder.parameters(), lr=0.01)", "decoder_optimizer = torch.optim.SGD(decoder.parameters(), lr=0.01)"]
        zero = ["encoder_optimizer.zero_grad()", "decoder_optimizer.zero_grad()"]
        if draft.has("no clear"):
            zero = zero[:1]
        elif draft.maybe(0.3):
            zero = ["for optimizer in (encoder_optimizer, decoder_optimizer):", ["optimizer.zero_grad()"]]
        if draft.maybe(0.3):
            steps = ["for optimizer in [encoder_optimizer, decoder_optimizer]:", ["optimizer.step()"]]
    cut = ".detach()" if draft.has("detach features") else ""
    return [*encoder.definition, *decoder.definition], _laid_out(draft, setup, names, [*zero, f"code = encoder(x){cut}", "loss = F.mse_loss(decoder(code), x)", "loss.backward()", *steps, *_log(draft, "loss")])


def _recurrent(draft: Draft) -> tuple[Block, Block]:
    cell = draft.pick("RNN", "GRU", "LSTM")
    init: Block = ["super().__init__()", "self.embed = nn.Embedding(20, 8)", f"self.rnn = nn.{cell}(8, 16, batch_first=True)", "self.head = nn.Linear(16, 20)"]
    forward: Block = ["out, state = self.rnn(self.embed(x), state)", "return self.head(out), state"]
    definition: Block = ["class Language(nn.Module):", ["def __init__(self):", init, "", "def forward(self, x, state=None):", forward], "", ""]
    setup: Block = ["model = Language()", "optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)"]
    carried = draft.maybe(0.6) or draft.has("hidden kept")
    kept = draft.has("hidden kept")
    detach: Block = []
    if carried and not kept:
        detach = ["if state is not None:", ["state = tuple(s.detach() for s in state)" if cell == "LSTM" else "state = state.detach()"]]
        if draft.maybe(0.3):
            draft.helpers += ["def repackage(h):", ["if isinstance(h, torch.Tensor):", ["return h.detach()"], "return tuple(repackage(v) for v in h)"], "", ""]
            detach = ["if state is not None:", ["state = repackage(state)"]]
    before: Block = ["state = None"] if carried else []
    call = "logits, state = model(x, state)" if carried else "logits, _ = model(x)"
    zero: Block = [] if draft.has("no clear") else ["optimizer.zero_grad()"]
    step: Block = [*zero, *detach, call, draft.pick("loss = F.cross_entropy(logits.reshape(-1, 20), y.reshape(-1))", "loss = F.cross_entropy(logits.transpose(1, 2), y)", "loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))"),
                   "loss.backward()", *(["nn.utils.clip_grad_norm_(model.parameters(), 0.25)"] if draft.maybe(0.5) else []), "optimizer.step()", *_log(draft, "loss")]
    body = _laid_out(draft, setup, ["model", "optimizer"], step, before)
    text = "loader = [(torch.randint(0, 20, (4, 6)), torch.randint(0, 20, (4, 6))) for _ in range(6)]"
    return definition, _replaced(body, str(DATA[0]), text)


def _replaced(block: Block, old: str, new: str) -> Block:
    return [new if one == old else _replaced(one, old, new) if isinstance(one, list) else one for one in block]


def _variational(draft: Draft) -> tuple[Block, Block]:
    init: Block = ["super().__init__()", "self.encoder = nn.Linear(8, 16)", "self.mu, self.logvar = nn.Linear(16, 4), nn.Linear(16, 4)", "self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))"]
    forward: Block = ["h = torch.relu(self.encoder(x))", "mu, logvar = self.mu(h), self.logvar(h)", "std = torch.exp(0.5 * logvar)", "z = mu + std * torch.randn_like(std)", "return self.decoder(z), mu, logvar"]
    definition: Block = ["class VAE(nn.Module):", ["def __init__(self):", init, "", "def forward(self, x):", forward], "", ""]
    zero: Block = [] if draft.has("no clear") else ["optimizer.zero_grad()"]
    cut = draft.pick(".detach()", ".item()") if draft.has("detach loss") else ""
    step: Block = [*zero, "restored, mu, logvar = model(x)", "kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())", f"loss = F.mse_loss(restored, x, reduction='sum') + kl{cut}", "loss.backward()", *([] if draft.has("no step") else ["optimizer.step()"]), *_log(draft, "loss")]
    return definition, _laid_out(draft, ["model = VAE()", "optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)"], ["model", "optimizer"], step)


def _several(draft: Draft) -> tuple[Block, Block]:
    one = model(draft, "8", "3", "", "Member")
    setup: Block = [f"models = nn.ModuleList([{one.expression} for _ in range(2)])" if draft.maybe(0.5) else f"models = [{one.expression} for _ in range(2)]",
                    "optimizers = [torch.optim.SGD(m.parameters(), lr=0.01) for m in models]"]
    zero: Block = [] if draft.has("no clear") else ["optimizer.zero_grad()"]
    step: Block = ["for model, optimizer in zip(models, optimizers):", [*zero, "loss = F.cross_entropy(model(x), y)", "loss.backward()", *([] if draft.has("no step") else ["optimizer.step()"])], *_log(draft, "loss")]
    body: Block = [*DATA, *setup, "history = []", "for epoch in range(3):", ["for i, (x, y) in enumerate(loader):", step]]
    return one.definition, body
