"""One step of a training loop: clear, forward, backward, clip, step, and what is written down of it."""

from __future__ import annotations

from .draft import Block, Draft
from .plan import Names, Plan


def clear(draft: Draft, names: Names) -> Block:
    def write(model: str, optimizer: str) -> Block:
        plain = f"{optimizer}.zero_grad()"
        return draft.weighted({
            plain: 10, f"{optimizer}.zero_grad(set_to_none=True)": 3, f"{optimizer}.zero_grad(set_to_none=False)": 1, f"{model}.zero_grad()": 2,
            f"for p in {model}.parameters():\n    p.grad = None": 1,
            f"for group in {optimizer}.param_groups:\n    for p in group['params']:\n        p.grad = None": 1,
            f"for p in {model}.parameters():\n    if p.grad is not None:\n        p.grad.zero_()": 1,
        }).split("\n")
    return draft.indirect([names.model, names.optimizer], write)


def forward(draft: Draft, names: Names, plan: Plan) -> Block:
    block = plan.task.loss(names.model, names.criterion)
    if plan.autocast:
        device = "cuda" if plan.device and draft.maybe(0.3) else "cpu"
        block = [f"with torch.autocast('{device}', dtype=torch.bfloat16):", block]
    if draft.maybe(0.06):
        block = [*block, f"penalty = sum(p.pow(2).sum() for p in {names.model}.parameters())", "loss = loss + 1e-4 * penalty"]
    if draft.has("unsafe root"):
        block = [*block, draft.pick("loss = loss + torch.sqrt((x - x).pow(2).sum())", "loss = torch.sqrt(loss)")]
    if plan.accumulate > 1 and not draft.has("undivided"):
        block = [*block, draft.pick(f"loss = loss / {plan.accumulate}", f"loss /= {plan.accumulate}")]
    if draft.has("detach loss"):
        block = [*block, draft.pick("loss = loss.detach().requires_grad_()", "loss = torch.tensor(loss.item(), requires_grad=True)", "loss = loss.data.requires_grad_(True)")]
    if draft.has("drop result"):
        block = [*block, draft.pick("loss.clamp(max=10.0)", "x.clamp(-3, 3)")]
    return block


def backward(draft: Draft, names: Names, plan: Plan) -> Block:
    keep = "retain_graph=True" if draft.has("retain graph") else ""
    if draft.has("no backward"):
        return [draft.pick("loss.backward", "pass", "loss.item()")]
    if plan.scaler and not draft.has("raw backward"):
        return [f"{names.scaler}.scale(loss).backward({keep})"]

    def write(loss: str) -> Block:
        return [f"{loss}.backward({keep})"]

    block = draft.indirect(["loss"], write)
    return [f"loss.backward(retain_graph=True)", *block] if draft.has("backward twice") else block


def clipping(draft: Draft, names: Names, plan: Plan) -> Block:
    if not plan.clip:
        return []
    unscale = [f"{names.scaler}.unscale_({names.optimizer})"] if plan.scaler and not draft.has("clip scaled") else []
    if draft.has("exhausted"):
        return [*unscale, "params = " + f"(p for p in {names.model}.parameters())", "norm = sum(p.norm() for p in params)", "nn.utils.clip_grad_norm_(params, 1.0)"]

    def write(model: str) -> Block:
        return [draft.weighted({f"nn.utils.clip_grad_norm_({model}.parameters(), 1.0)": 6, f"torch.nn.utils.clip_grad_norm_({model}.parameters(), max_norm=5.0)": 4,
                                f"nn.utils.clip_grad_value_({model}.parameters(), 0.5)": 2})]

    return [*unscale, *draft.indirect([names.model], write)]


def apply(draft: Draft, names: Names, plan: Plan) -> Block:
    if draft.has("no step"):
        return []
    if plan.scaler and not draft.has("bypass scaler"):
        update = [] if draft.has("no update") else [f"{names.scaler}.update()"]
        return [f"{names.scaler}.step({names.optimizer})", *update]

    def write(optimizer: str) -> Block:
        return [f"{optimizer}.step()"]

    return draft.indirect([names.optimizer], write)


def averaged(draft: Draft, names: Names, plan: Plan) -> Block:
    if not plan.ema:
        return []
    step = f"e.mul_(0.9).add_(p{draft.pick('.detach()', '', '.data')}, alpha=0.1)"
    loop: Block = [f"for e, p in zip({names.ema}.parameters(), {names.model}.parameters()):", [step]]
    return ["with torch.no_grad():", loop]


def log(draft: Draft, names: Names) -> Block:
    if draft.has("keep loss"):
        return [draft.pick(f"{names.history}.append(loss)", "total += loss", "total = total + loss")]
    return draft.weighted({"": 3, f"{names.history}.append(loss.item())": 3, f"{names.history}.append(loss.detach())": 1, "total += loss.item()": 4,
                           "total = total + float(loss)": 1, "total += loss.item() * x.size(0)": 2, "total += loss.detach()": 1}).splitlines()


def schedule(draft: Draft, names: Names, plan: Plan) -> Block:
    return [f"{names.scheduler}.step()"] if plan.schedule == "batch" else []


def step(draft: Draft, names: Names, plan: Plan) -> Block:
    """All of one step; `i`, `x` and `y` are bound before, `total` is counted up."""
    if plan.accumulate > 1:
        return _accumulated(draft, names, plan)
    first = draft.weighted({"head": 5, "before backward": 3, "after step": 4})
    parts: dict[str, Block] = {"forward": forward(draft, names, plan), "backward": backward(draft, names, plan), "clip": clipping(draft, names, plan), "apply": apply(draft, names, plan)}
    if draft.maybe(0.06):
        parts["forward"] += ["if not torch.isfinite(loss):", ["continue" if "self." not in names.model else "return 0.0"]] if draft.maybe(0.5) and "self." not in names.model else []
    order = ["forward", "backward", "clip", "apply"]
    if draft.has("clip late"):
        order = ["forward", "backward", "apply", "clip"]
    elif draft.has("clip early"):
        order = ["forward", "clip", "backward", "apply"]
    where = {"head": 0, "before backward": order.index("backward"), "after step": 4}[first]
    if draft.has("clear after backward"):
        where = order.index("backward") + 1
    elif draft.has("clear before step"):
        where = order.index("apply")
    block: Block = []
    cleared: Block = [] if draft.has("no clear") else clear(draft, names)
    if draft.has("clear first only"):
        cleared = ["if i == 0:", cleared]
    for index, part in enumerate(order):
        block += cleared if index == where else []
        block += parts[part]
    block += cleared if where == 4 else []
    late = schedule(draft, names, plan)
    block = [*late, *block] if draft.has("schedule early") else [*block, *late]
    return [*block, *averaged(draft, names, plan), *log(draft, names)]


def _accumulated(draft: Draft, names: Names, plan: Plan) -> Block:
    k = plan.accumulate
    inner: Block = [*clipping(draft, names, plan), *apply(draft, names, plan)]
    cleared = [] if draft.has("no clear") else clear(draft, names)
    late = schedule(draft, names, plan)
    outside: Block = []
    if draft.has("schedule per batch"):
        outside = late or [f"{names.scheduler}.step()"]
    else:
        inner += late
    head: Block = []
    if draft.has("clear after backward") or draft.has("clear before step"):
        head = cleared
    else:
        inner += cleared
    guard = draft.pick(f"if (i + 1) % {k} == 0:", f"if i % {k} == {k - 1}:", f"if (i + 1) % {k} == 0 or i + 1 == len({names.loader}):", f"if not (i + 1) % {k}:")
    body: Block = [*head, *forward(draft, names, plan), *backward(draft, names, plan), guard, inner or ["pass"], *outside]
    return [*body, *averaged(draft, names, plan), *log(draft, names)]
