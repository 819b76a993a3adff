"""How a training is laid out: a script, functions, a trainer, a base class, closures, several files."""

from __future__ import annotations

from .draft import Block, Draft
from .loops import epoch, epochs, evaluation
from .plan import Names, Plan
from .setup import built, data, numbers
from .steps import step


def _finish(draft: Draft) -> Block:
    return draft.pick(["print(len(history))"], ["print('done')"], [])


def _evaluation(draft: Draft, names: Names, plan: Plan) -> tuple[Block, Block]:
    """A function that evaluates, perhaps, and the lines that do."""
    if not plan.evaluate:
        return [], []
    if draft.maybe(0.5):
        return [], [*evaluation(draft, names, plan), draft.pick("print(correct)", "best = max(best, correct)") if False else "print(correct)"]
    decorator = [draft.pick("@torch.no_grad()", "@torch.inference_mode()")] if draft.maybe(0.35) and not draft.has("graphs in evaluation") else []
    device = ", device" if plan.device else ""
    plain = Names()
    body = evaluation(draft, plain, plan, bool(decorator))
    function: Block = [*decorator, f"def evaluate(model, test_loader{device}):", [*body, "return correct"], "", ""]
    return function, [f"print(evaluate({names.model}, {names.test_loader}{', ' + names.device if plan.device else ''}))"]


def script(draft: Draft, plan: Plan, model: str) -> Block:
    names = Names()
    lines, rate, _ = numbers(draft)
    function, evaluate = _evaluation(draft, names, plan)
    late = draft.maybe(0.25)
    run = epochs(draft, plan, epoch(draft, names, plan, step(draft, names, plan), [] if late else evaluate))
    body: Block = [*data(draft, plan), *lines, *built(draft, plan, model, rate), "history = []", *run, *(evaluate if late else []), *_finish(draft)]
    if draft.maybe(0.3):
        body = draft.pick(["if __name__ == '__main__':", body], ["def main():", body, "", "", "if __name__ == '__main__':", ["main()"]])
    return [*function, *body]


def functions(draft: Draft, plan: Plan, model: str) -> Block:
    names = Names()
    lines, rate, _ = numbers(draft)
    function, evaluate = _evaluation(draft, names, plan)
    objects = plan.objects()
    given = ", ".join([*objects, "loader", "history"])
    if draft.maybe(0.5):  # one function an epoch
        whole = epoch(draft, names, plan, step(draft, names, plan), [], in_loop=False)
        train: Block = [f"def train_one_epoch({given}, epoch):", [*whole, "return total"], "", ""]
        run = epochs(draft, plan, [f"loss = train_one_epoch({given}, epoch)", *evaluate])
    else:  # one function for all of it
        inner = epoch(draft, names, plan, step(draft, names, plan), evaluate)
        train = [f"def train({given}, test_loader):", [*epochs(draft, plan, inner), draft.pick("return model", "return history")], "", ""]
        run = [f"train({given}, test_loader)"]
    body: Block = [*data(draft, plan), *lines, *built(draft, plan, model, rate), "history = []", *run, *_finish(draft)]
    if draft.maybe(0.6):
        body = ["def main():", body, "", "", "if __name__ == '__main__':", ["main()"]]
    return [*function, *train, *body]


def trainer(draft: Draft, plan: Plan, model: str) -> Block:
    names = Names().of_self()
    lines, rate, _ = numbers(draft)
    objects = plan.objects()
    fields = [*objects, "loader", "test_loader"]
    init: Block = [f"def __init__(self, {', '.join(fields)}):", [*(f"self.{one} = {one}" for one in fields), "self.history = []"], ""]
    evaluate: Block = []
    methods: Block = []
    if plan.evaluate:
        decorated = draft.maybe(0.4) and not draft.has("graphs in evaluation")
        methods += [*(["@torch.no_grad()"] if decorated else []), "def evaluate(self):", [*evaluation(draft, names, plan, decorated), "return correct"], ""]
        evaluate = [draft.pick("print(self.evaluate())", "score = self.evaluate()")]
    one = step(draft, names, plan)
    if draft.maybe(0.5) and plan.accumulate == 1:
        methods += ["def train_step(self, i, x, y):", ["total = 0.0", *one, "return total"], ""]
        one = ["total += self.train_step(i, x, y)"]
    whole = epoch(draft, names, plan, one, [], in_loop=False)
    if draft.maybe(0.5):
        methods += ["def train_epoch(self, epoch):", [*whole, "return total"], ""]
        whole = ["total = self.train_epoch(epoch)"]
    methods += [f"def {draft.pick('fit', 'train', 'run')}(self):", epochs(draft, plan, [*whole, *evaluate])]
    method = next(line for line in reversed(methods) if isinstance(line, str)).split()[1].split("(")[0]
    classes: Block = [f"class {draft.pick('Trainer', 'Runner', 'Experiment')}:", [*init, *methods], "", ""]
    name = str(classes[0]).split()[1][:-1]
    if draft.maybe(0.3):
        classes = ["class Base:", ["def on_start(self):", ["print('start')"]], "", "", f"class {name}(Base):", classes[1], "", ""]
    body: Block = [*data(draft, plan), *lines, *built(draft, plan, model, rate), f"trainer = {name}({', '.join(fields)})", f"trainer.{method}()"]
    if draft.maybe(0.5):
        body = ["def main():", body, "", "", "if __name__ == '__main__':", ["main()"]]
    return [*classes, *body]


def template(draft: Draft, plan: Plan, model: str) -> Block:
    """The loop is in a base class, the step in the class."""
    names = Names().of_self()
    lines, rate, _ = numbers(draft)
    fields = [*plan.objects(), "loader", "test_loader"]
    init: Block = ["def __init__(self, **parts):", ["for name, part in parts.items():", ["setattr(self, name, part)"], "self.history = []"], ""]
    if draft.maybe(0.7):
        init = [f"def __init__(self, {', '.join(fields)}):", [*(f"self.{one} = {one}" for one in fields), "self.history = []"], ""]
    evaluate: Block = []
    methods: Block = []
    if plan.evaluate:
        methods = ["def validate(self):", [*evaluation(draft, names, plan), "return correct"], ""]
        evaluate = ["self.validate()"]
    whole = epoch(draft, names, plan, ["total += self.training_step(i, x, y)"], evaluate)
    base: Block = ["class Base:", [*init, "def training_step(self, i, x, y):", ["raise NotImplementedError"], "", *methods, "def fit(self):", epochs(draft, plan, whole)], "", ""]
    own: Block = ["class Training(Base):", ["def training_step(self, i, x, y):", ["total = 0.0", *step(draft, names, plan), "return total"]], "", ""]
    given = ", ".join(f"{one}={one}" for one in fields)
    return [*base, *own, *data(draft, plan), *lines, *built(draft, plan, model, rate), f"Training({given}).fit()"]


def closure(draft: Draft, plan: Plan, model: str) -> Block:
    names = Names()
    lines, rate, _ = numbers(draft)
    function, evaluate = _evaluation(draft, names, plan)
    one = step(draft, names, plan)
    inner: Block = []
    rebinds = "optimizer in loop" in draft.faults
    if draft.maybe(0.5):
        rebind = ["nonlocal optimizer"] if rebinds and any("optimizer = " in str(line) for line in one) else []
        inner = ["def step(i, x, y):", [*rebind, "total = 0.0", *one, "return total"], ""]
        one = ["total += step(i, x, y)"]
    whole = epochs(draft, plan, epoch(draft, names, plan, one, evaluate))
    if any("continue" in str(line) for line in inner):
        inner, one = [], ["pass"]
    run: Block = ["def run():", [*(["nonlocal optimizer"] if rebinds else []), *whole], "", "run()"]
    return [*function, *data(draft, plan), "", "", "def main():", [*lines, *built(draft, plan, model, rate), "history = []", "", *inner, *run], "", "", "main()"]


LAYOUTS = {script: 4, functions: 5, trainer: 4, template: 1, closure: 2}
