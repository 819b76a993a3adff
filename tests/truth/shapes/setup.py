"""What is built before the training: data, optimizers, schedules, and where their numbers come from."""

from __future__ import annotations

from .draft import Block, Draft
from .plan import Plan


def data(draft: Draft, plan: Plan) -> Block:
    task = plan.task
    dtype = ".double()" if draft.has("input dtype") else ""
    x, y = task.inputs.format(n=24) + dtype, task.targets.format(n=24)
    tx, ty = task.inputs.format(n=20) + dtype, task.targets.format(n=20)
    kind = draft.weighted({"tensors": 8, "list": 2, "dataset": 3, "split": 2, "generated": 1})
    shuffle = "" if draft.has("unshuffled") else ", shuffle=True"
    if kind == "list":
        bx, by = task.inputs.format(n=4) + dtype, task.targets.format(n=4)
        return [f"loader = [({bx}, {by}) for _ in range(6)]", f"test_loader = [({bx}, {by}) for _ in range(5)]"]
    if kind == "dataset":
        body: Block = ["def __init__(self, n):", [f"self.x = {task.inputs.format(n=1).replace('(1, ', '(n, ')}{dtype}", f"self.y = {y.replace('24', 'n')}"], "", "def __len__(self):", ["return len(self.x)"], "",
                       "def __getitem__(self, index):", ["return self.x[index], self.y[index]"]]
        draft.helpers += ["class Samples(torch.utils.data.Dataset):", body, "", ""]
        return [f"loader = DataLoader(Samples(24), batch_size=4{shuffle})", "test_loader = DataLoader(Samples(20), batch_size=4)"]
    if kind == "split":
        return [f"whole = TensorDataset({x.replace('24', '44')}, {y.replace('24', '44')})", "train_set, test_set = torch.utils.data.random_split(whole, [24, 20])",
                f"loader = DataLoader(train_set, batch_size=4{shuffle}, drop_last=True)", "test_loader = DataLoader(test_set, batch_size=4, shuffle=False)"]
    if kind == "generated":
        draft.helpers += ["def make_data(n):", [f"x = {task.inputs.format(n=1).replace('(1, ', '(n, ')}{dtype}", f"return TensorDataset(x, {y.replace('24', 'n')})"], "", ""]
        return [f"loader = DataLoader(make_data(24), 4{shuffle})", "test_loader = DataLoader(make_data(20), 4)"]
    return [f"train_set = TensorDataset({x}, {y})", f"loader = DataLoader(train_set, batch_size=4{shuffle})", f"test_loader = DataLoader(TensorDataset({tx}, {ty}), batch_size=4)"]


def parameters(draft: Draft, model: str) -> str:
    return draft.weighted({
        f"{model}.parameters()": 12, f"filter(lambda p: p.requires_grad, {model}.parameters())": 2, f"[p for p in {model}.parameters() if p.requires_grad]": 2,
        f"[{{'params': {model}.parameters()}}]": 1, f"list({model}.parameters())": 1, f"[p for n, p in {model}.named_parameters()]": 1,
        f"[{{'params': [p for n, p in {model}.named_parameters() if 'bias' not in n], 'weight_decay': 1e-2}}, {{'params': [p for n, p in {model}.named_parameters() if 'bias' in n], 'weight_decay': 0.0}}]": 1,
    })


def optimizer(draft: Draft, model: str, rate: str) -> str:
    params = parameters(draft, model)
    return draft.weighted({
        f"torch.optim.SGD({params}, lr={rate})": 4, f"torch.optim.SGD({params}, lr={rate}, momentum=0.9)": 3, f"torch.optim.Adam({params}, lr={rate})": 5,
        f"torch.optim.AdamW({params}, lr={rate}, weight_decay=1e-2)": 3, f"torch.optim.RMSprop({params}, lr={rate})": 1, f"torch.optim.Adagrad({params}, lr={rate})": 1,
    })


def scheduler(draft: Draft, plan: Plan, optimizer: str = "optimizer") -> str:
    if plan.schedule == "metric":
        return f"torch.optim.lr_scheduler.ReduceLROnPlateau({optimizer}, patience=1)"
    return draft.pick(f"torch.optim.lr_scheduler.StepLR({optimizer}, step_size=2)", f"torch.optim.lr_scheduler.CosineAnnealingLR({optimizer}, T_max=10)",
                      f"torch.optim.lr_scheduler.LambdaLR({optimizer}, lambda step: min(1.0, (step + 1) / 5))", f"torch.optim.lr_scheduler.ExponentialLR({optimizer}, gamma=0.9)",
                      f"torch.optim.lr_scheduler.MultiStepLR({optimizer}, milestones=[2, 4])")


def freezing(draft: Draft) -> Block:
    """Some parameters do not learn."""
    if draft.has("frozen by slice"):
        return draft.pick(["for p in list(model.parameters())[:2]:", ["p.requires_grad = False"]], ["for i, p in enumerate(model.parameters()):", ["if i < 2:", ["p.requires_grad = False"]]],
                          ["for p in model.parameters():", ["p.requires_grad = False", "break"]])
    return draft.pick(["next(model.parameters()).requires_grad_(False)"], ["for name, p in model.named_parameters():", ["if name.endswith('bias'):", ["p.requires_grad = False"]]],
                      ["for p in next(model.children()).parameters():", ["p.requires_grad = False"]], ["for p in model.parameters():", ["p.requires_grad_(True)"]])


def numbers(draft: Draft) -> tuple[Block, str, str]:
    """Where hyperparameters come from: lines, the learning rate, and the number of epochs (empty: as planned)."""
    kind = draft.weighted({"literal": 6, "constants": 3, "dict": 2, "argparse": 4, "dataclass": 2, "namespace": 1, "json": 1})
    if kind == "literal":
        return [], draft.pick("0.01", "1e-3"), ""
    if kind == "constants":
        return ["LR = 1e-3", "BATCH = 4"], "LR", ""
    if kind == "dict":
        return ["config = {'lr': 1e-3, 'batch': 4, 'model': 'net'}"], "config['lr']", ""
    if kind == "argparse":
        draft.imports.add("import argparse")
        return ["parser = argparse.ArgumentParser()", "parser.add_argument('--lr', type=float, default=1e-3)", "parser.add_argument('--verbose', action='store_true')", "args = parser.parse_args()"], "args.lr", ""
    if kind == "dataclass":
        draft.imports.add("from dataclasses import dataclass")
        draft.helpers += ["@dataclass", "class Config:", ["lr: float = 1e-3", "batch: int = 4"], "", ""]
        return ["cfg = Config()"], "cfg.lr", ""
    if kind == "json":
        draft.imports.add("import json")
        return ["cfg = json.loads('{\"lr\": 0.001}')"], "cfg['lr']", ""
    draft.imports.add("from types import SimpleNamespace")
    return ["hp = SimpleNamespace(lr=1e-3, batch=4)"], "hp.lr", ""


def built(draft: Draft, plan: Plan, model: str, rate: str) -> Block:
    """Model, optimizer and what goes with them, under their plain names."""
    lines: Block = []
    if plan.device:
        lines += [draft.pick("device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", "device = 'cuda' if torch.cuda.is_available() else 'cpu'")]
    if draft.maybe(0.1) and "(" in model and not model.startswith("nn."):
        name = model.split("(")[0]
        lines += [f"MODELS = {{'net': {name}}}"]
        model = model.replace(name, "MODELS['net']", 1)
    lines += [f"model = {model}.to(device)"] if plan.device and draft.maybe(0.6) else [f"model = {model}", *(["model.to(device)"] if plan.device else [])]
    lines += freezing(draft) if plan.frozen else []
    lines += [f"optimizer = {optimizer(draft, 'model', rate)}"]
    if draft.has("replaced head"):
        lines += ["model = nn.Sequential(model, nn.LayerNorm(model(torch.randn(4, 8)).shape[1]))"] if not plan.device else []
    if draft.has("strangers"):
        lines[-1] = f"optimizer = torch.optim.Adam(list(model.parameters())[-2:], lr={rate})"
    lines += [f"criterion = {plan.task.criterion}"] if plan.task.criterion else []
    if plan.schedule:
        lines += [f"scheduler = {scheduler(draft, plan)}"]
        lines += [f"optimizer = {optimizer(draft, 'model', rate)}"] if draft.has("schedule other") else []
    if plan.scaler:
        lines += [f"scaler = {draft.pick(chr(39).join(['torch.amp.GradScaler(', 'cpu', ')']), 'torch.amp.GradScaler(%s, enabled=True)' % repr('cpu'))}"]
    if plan.ema:
        draft.imports.add("import copy")
        lines += ["ema = copy.deepcopy(model)"]
    return lines
