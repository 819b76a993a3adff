"""Loops over epochs and batches, and evaluation."""

from __future__ import annotations

from .draft import Block, Draft
from .plan import Names, Plan


def moved(draft: Draft, names: Names, plan: Plan) -> Block:
    """A batch goes to where the model is."""
    if not plan.device:
        return []
    if draft.has("device"):
        return [f"y = y.to({names.device})"]
    return draft.pick([f"x, y = x.to({names.device}), y.to({names.device})"], [f"x = x.to({names.device})", f"y = y.to({names.device}, non_blocking=True)"])


def batches(draft: Draft, names: Names, body: Block) -> Block:
    """A loop that binds `i`, `x` and `y`."""
    loader = names.loader
    kind = draft.weighted({"plain": 6, "enumerate": 6, "unpack": 2, "while": 1, "islice": 1, "next": 1, "generator": 1, "index": 1, "zip": 1, "start": 1})
    if kind == "plain":
        return ["i = -1", f"for x, y in {loader}:", ["i += 1", *body]]
    if kind == "enumerate":
        return [f"for i, (x, y) in enumerate({loader}):", body]
    if kind == "start":
        return [f"for i, (x, y) in enumerate({loader}, 0):", body]
    if kind == "unpack":
        return [f"for i, batch in enumerate({loader}):", [draft.pick("x, y = batch", "x, y = batch[0], batch[1]"), *body]]
    if kind == "islice":
        draft.imports.add("import itertools")
        return [f"for i, (x, y) in enumerate(itertools.islice({loader}, 5)):", body]
    if kind == "next":
        return [f"source = iter({loader})", f"for i in range(len({loader})):", ["x, y = next(source)", *body]]
    if kind == "index":
        return [f"for i in range(len({loader})):", [f"x, y = list({loader})[i]", *body]]
    if kind == "zip":
        return [f"for i, (x, y) in zip(range(6), {loader}):", body]
    if kind == "generator":
        helper = draft.fresh("batches")
        draft.helpers += [f"def {helper}(source):", ["for x, y in source:", ["yield x, y"]], "", ""]
        return [f"for i, (x, y) in enumerate({helper}({loader})):", body]
    return [f"source, i = iter({loader}), -1", "while True:", ["i += 1", "try:", ["x, y = next(source)"], "except StopIteration:", ["break"], *body]]


def epochs(draft: Draft, plan: Plan, body: Block) -> Block:
    n = plan.epochs
    head = draft.weighted({f"for epoch in range({n}):": 8, f"for epoch in range(1, {n} + 1):": 3, f"for epoch in ({', '.join(map(str, range(n)))}):": 1, "while": 1})
    if head == "while":
        return ["epoch = 0", f"while epoch < {n}:", [*body, "epoch += 1"]]
    return [head, body]


def mode(draft: Draft, names: Names) -> Block:
    return [] if draft.has("no mode") else draft.weighted({f"{names.model}.train()": 8, f"{names.model}.train(True)": 1, "": 2}).splitlines()


def evaluation(draft: Draft, names: Names, plan: Plan, decorated: bool = False) -> Block:
    """Evaluates; binds `correct`."""
    body: Block = [*moved(draft, names, plan), f"correct += {plan.task.measure.format(names.model + '(x)')}"]
    loop: Block = [draft.pick(f"for x, y in {names.test_loader}:", f"for i, (x, y) in enumerate({names.test_loader}):"), body]
    if not draft.has("graphs in evaluation") and not decorated:
        context = draft.weighted({"torch.no_grad()": 8, "torch.inference_mode()": 2, "torch.set_grad_enabled(False)": 1})
        loop = [f"with {context}:", loop]
    off: Block = [] if draft.has("no eval") else [draft.weighted({f"{names.model}.eval()": 8, f"{names.model}.train(False)": 1})]
    back: Block = [] if draft.has("no return to training") else draft.weighted({f"{names.model}.train()": 2, "": 3}).splitlines()
    return [*off, "correct = 0.0", *loop, *back]


def epoch(draft: Draft, names: Names, plan: Plan, batch: Block, evaluate: Block, in_loop: bool = True) -> Block:
    """The body of one epoch. `batch` is a step, and `evaluate` what comes after it."""
    late: Block = []
    if plan.schedule == "epoch":
        late = [f"{names.scheduler}.step()"]
    elif plan.schedule == "metric":
        late = [f"{names.scheduler}.step(total)"]
    early = draft.has("schedule early") and plan.schedule == "epoch"
    rebuilt: Block = []
    if draft.has("optimizer in loop"):
        rebuilt = [f"{names.optimizer} = torch.optim.Adam({names.model}.parameters(), lr=1e-3)"]
    steps = batches(draft, names, [*moved(draft, names, plan), *(rebuilt if draft.maybe(0.5) else []), *batch])
    stop: Block = []
    if in_loop and draft.maybe(0.1):
        stop = draft.pick(["if total < 1e-9:", ["break"]], [f"if epoch > {plan.epochs + 2}:", ["break"]])
    if draft.maybe(0.1):
        draft.imports.add("import io")
        stop = [*stop, f"torch.save({{'model': {names.model}.state_dict(), 'optimizer': {names.optimizer}.state_dict(), 'epoch': epoch}}, io.BytesIO())"]
    starts = mode(draft, names)
    body: Block = [*starts, *(late if early else []), "total = 0.0", *rebuilt * (draft.count % 2), *steps, *([] if early else late), *evaluate, *stop]
    return [*evaluate, *body] if draft.has("eval before fit") and evaluate else body
