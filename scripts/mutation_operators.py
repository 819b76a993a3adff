"""Ways to break a right training script, each as exact edits of its text.

An operator is a generator over the places of a `Script` where it applies: it yields the line of the place and the edits
(`Edit`) that break it. What the program should then say is beside the operator (`OPERATORS`): the names of rules, of
which one has to appear. An operator yields only where the result is wrong for sure, as far as one file can tell; a place
where the mutant may still be right is left out.

Here are the operators on steps, modes, modules and data; those on what is computed are in `mutation_values`.
"""

from __future__ import annotations

import ast
import re
from typing import Callable

import mutation_values
from mutation_script import Edit, Mutants, Script, called, inside, last_name, method_statements, moves, optimizer_steps, receiver, scheduler_statements


# Gradients and optimizers


def clear_deleted(script: Script) -> Mutants:
    """All calls that clear the gradients of one function, where it has a loop that steps."""
    functions: dict[ast.AST, list[ast.Expr]] = {}
    for node, _ in method_statements(script, "zero_grad"):
        functions.setdefault(script.function(node), []).append(node)
    for function, nodes in functions.items():
        if optimizer_steps(script, function) and any(script.loop(node) for node in nodes):
            yield nodes[0].lineno, [script.drop(node) for node in nodes]


def clear_before_step(script: Script) -> Mutants:
    """The clear goes between the backward and the step."""
    for node, call in method_statements(script, "zero_grad"):
        block = script.block(node)
        backward = [one for one in block if isinstance(one, ast.Expr) and called(one.value, "backward")]
        steps = [one for one in block if isinstance(one, ast.Expr) and called(one.value, "step") and receiver(one.value) == receiver(call)]
        if len(backward) == len(steps) == 1 and node.lineno < backward[0].lineno < steps[0].lineno:
            yield backward[0].lineno, [script.drop(node), script.put_before(steps[0], node)]


def step_deleted(script: Script) -> Mutants:
    for node, call in method_statements(script, "step"):
        function = script.function(node)
        if call in optimizer_steps(script, function) and len(optimizer_steps(script, script.tree)) == 1 and inside(function, "backward"):
            yield node.lineno, [script.drop(node)]


def loss_detached(script: Script) -> Mutants:
    for node, call in method_statements(script, "backward"):
        # `accelerator.backward(loss)` is told the loss; `loss.backward()` is called on it.
        loss = call.args[0] if call.args else call.func.value
        if isinstance(loss, ast.Name):
            yield node.lineno, [script.replace(loss, f"{loss.id}.detach()")]


def backward_not_called(script: Script) -> Mutants:
    for node, call in method_statements(script, "backward"):
        if isinstance(call.func.value, ast.Name):
            yield node.lineno, [script.replace(call, f"{receiver(call)}.backward")]


def graph_retained(script: Script) -> Mutants:
    for node, call in method_statements(script, "backward"):
        function = script.function(node)
        if isinstance(call.func.value, ast.Name) and not call.args and not call.keywords and len(inside(function, "backward")) == 1:
            yield node.lineno, [script.replace(call, f"{receiver(call)}.backward(retain_graph=True)")]


def optimizer_in_loop(script: Script) -> Mutants:
    """The optimizer is built at the head of the loop over batches that stands behind it."""
    for node in script.walk(ast.Assign):
        if not (called(node.value, "SGD", "Adam", "AdamW", "RMSprop") and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            continue
        after = [one for one in script.block(node) if one.lineno > node.lineno and isinstance(one, ast.For)]
        loops = [loop for one in after for loop in ast.walk(one) if isinstance(loop, ast.For) and optimizer_steps(script, loop)]
        uses = [one for one in script.walk(ast.Name) if one.id == node.targets[0].id and isinstance(one.ctx, ast.Load)]
        if loops and all(any(one in list(ast.walk(loop)) for loop in loops) for one in uses):
            inner = loops[-1]
            yield node.lineno, [script.drop(node), script.put_before(inner.body[0], node)]


def accumulation_unscaled(script: Script) -> Mutants:
    """`loss = loss / accumulation` is left out."""
    for node in script.walk(ast.Assign, ast.AugAssign):
        value = node.value
        if isinstance(node, ast.Assign) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) and "accum" in ast.unparse(value.right).lower():
            if "loss" in ast.unparse(value.left):
                yield node.lineno, [script.replace(value, script.source(value.left))]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div) and "accum" in ast.unparse(value).lower():
            yield node.lineno, [script.drop(node)]


def clip_moved(script: Script) -> Mutants:
    """Clipping goes behind the step."""
    for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"):
        for node in script.walk(ast.Expr, ast.Assign):
            if not called(node.value, name):
                continue
            steps = [one for one in script.block(node) if isinstance(one, ast.Expr) and called(one.value, "step") and one.lineno > node.lineno]
            if steps and isinstance(node, ast.Expr) and "sched" not in receiver(steps[0].value):
                yield steps[0].lineno, [script.drop(node), script.put_after(steps[0], node)]


def unscale_deleted(script: Script) -> Mutants:
    for node, _ in method_statements(script, "unscale_"):
        clips = inside(script.function(node), "clip_grad_norm_", "clip_grad_value_")
        if any(len(call.args) > 1 and ast.unparse(call.args[1]) != "None" for call in clips):
            yield node.lineno, [script.drop(node)]


def scaler_update_deleted(script: Script) -> Mutants:
    for node, call in method_statements(script, "update"):
        if re.search(r"scaler$", receiver(call), re.I):
            yield node.lineno, [script.drop(node)]


def scheduler_first(script: Script) -> Mutants:
    """The schedule steps at the head of its loop, before the optimizer."""
    for node in scheduler_statements(script):
        loop = script.loop(node)
        if loop and not node.value.args and node is not loop.body[0] and node in loop.body:
            yield node.lineno, [script.drop(node), script.put_before(loop.body[0], node)]


# Evaluation


def no_grad_dropped(script: Script) -> Mutants:
    """Evaluation over a loader that records graphs."""
    for node in script.walk(ast.With):
        if len(node.items) == 1 and called(node.items[0].context_expr, "no_grad", "inference_mode") and evaluates(script, node):
            yield node.lineno, [Edit(script.start(node), script.end(node.items[0].context_expr), "if True")]
    for node in script.walk(ast.FunctionDef):
        for decorator in node.decorator_list:
            if called(decorator, "no_grad", "inference_mode") and evaluates(script, node):
                yield node.lineno, [Edit(script.start(decorator) - 1, script.end(decorator), "")]


def evaluates(script: Script, node: ast.AST) -> bool:
    """Whether what is under `no_grad` is an evaluation: in evaluation mode, over batches, and nothing is written."""
    function = node if isinstance(node, ast.FunctionDef) else script.function(node)
    loops = script.loop(node) or any(isinstance(one, (ast.For, ast.While)) for one in ast.walk(node))
    return bool(loops) and bool(inside(function, "eval")) and not inside(node, "copy_", "mul_", "add_", "parameters")


def eval_dropped(script: Script) -> Mutants:
    for node, call in method_statements(script, "eval"):
        if depends_on_mode(script) and sum(receiver(one) == receiver(call) for _, one in method_statements(script, "eval")) == 1:
            yield node.lineno, [script.drop(node)]


def train_dropped(script: Script) -> Mutants:
    """All calls of `train()` on a model that is put into evaluation mode somewhere."""
    evaluated = {receiver(call) for _, call in method_statements(script, "eval")}
    for name in sorted(evaluated):
        calls = [node for node, call in method_statements(script, "train") if receiver(call) == name and not call.args]
        if calls and depends_on_mode(script):
            yield calls[0].lineno, [script.drop(node) for node in calls]


def depends_on_mode(script: Script) -> bool:
    return bool(re.search(r"dropout|batch_?norm|resnet|vgg|densenet", script.text, re.I))


def item_dropped(script: Script) -> Mutants:
    """A sum over batches keeps the loss of each, which backward went through."""
    for node in script.walk(ast.AugAssign):
        items = [call for call in inside(node.value, "item") if isinstance(call.func.value, ast.Name)]
        if items and kept_over_batches(script, node, items[0], node.target):
            yield node.lineno, [script.replace(items[0], receiver(items[0]))]
    for node, call in method_statements(script, "append"):
        if len(call.args) == 1 and called(call.args[0], "item") and kept_over_batches(script, node, call.args[0], call.func.value):
            yield node.lineno, [script.replace(call.args[0], receiver(call.args[0]))]


def kept_over_batches(script: Script, node: ast.AST, item: ast.Call, target: ast.AST) -> bool:
    """Whether a loop that walks a loss also puts it into something from before the loop."""
    loop = script.loop(node)
    return loop is not None and receiver(item) in map(receiver, inside(loop, "backward")) and not assigned(loop, target)


def assigned(loop: ast.AST, target: ast.AST) -> bool:
    """Whether a loop makes its target anew."""
    name = ast.unparse(target)
    return any(isinstance(one, ast.Assign) and name in map(ast.unparse, one.targets) for one in ast.walk(loop))


def hidden_kept(script: Script) -> Mutants:
    """A hidden state is carried from batch to batch with its graph."""
    for node in script.walk(ast.Assign):
        value = node.value
        if not (script.loop(node) and len(node.targets) == 1 and isinstance(value, ast.Call)):
            continue
        target = ast.unparse(node.targets[0])
        whole = called(value, "repackage_hidden") or (called(value, "detach") and receiver(value) == target)
        if whole and re.search(r"hidden|state|mem", target):
            yield node.lineno, [script.drop(node)]


# Losses


def softmax_added(script: Script) -> Mutants:
    """What cross entropy gets goes through a softmax first."""
    if "import torch" not in script.text:
        return
    losses = {ast.unparse(node.targets[0]) for node in script.walk(ast.Assign) if any(called(one, "CrossEntropyLoss") for one in ast.walk(node.value))}
    for node in script.walk(ast.Call):
        if node.args and (called(node, "cross_entropy") or ast.unparse(node.func) in losses) and not in_evaluation(script, node):
            yield node.lineno, [script.replace(node.args[0], f"torch.softmax({script.source(node.args[0])}, dim=1)")]


def in_evaluation(script: Script, node: ast.AST) -> bool:
    """Whether a node is in a function that evaluates and trains nothing: some rules are silent there on purpose."""
    function = script.function(node)
    named = re.search(r"val|test|infer", getattr(function, "name", ""), re.I)
    return not inside(function, "backward") and bool(named or inside(function, "eval") or inside(function, "no_grad"))


def logits_as_probabilities(script: Script) -> Mutants:
    for node in script.walk(ast.Attribute):
        if node.attr == "BCEWithLogitsLoss" and isinstance(script.parents[node], ast.Call) and not script.parents[node].keywords:
            yield node.lineno, [script.replace(node, f"{ast.unparse(node.value)}.BCELoss")]
        if node.attr == "binary_cross_entropy_with_logits":
            yield node.lineno, [script.replace(node, f"{ast.unparse(node.value)}.binary_cross_entropy")]


def logits_flag_dropped(script: Script) -> Mutants:
    for node in script.walk(ast.keyword):
        if node.arg == "from_logits" and ast.unparse(node.value) == "True":
            yield node.value.lineno, [script.replace(node.value, "False")]


def epsilon_dropped(script: Script) -> Mutants:
    """`x + eps` under a logarithm, a root or a division loses its guard."""
    for node in script.walk(ast.BinOp):
        if isinstance(node.op, ast.Add) and is_epsilon(node.right) and guards(script, node):
            yield node.lineno, [script.replace(node, script.source(node.left))]


def is_epsilon(node: ast.AST) -> bool:
    number = isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value <= 1e-4
    return number or bool(re.fullmatch(r"(.*[._])?eps(ilon)?", ast.unparse(node), re.I))


def guards(script: Script, node: ast.AST) -> bool:
    parent = script.parents[node]
    divides = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div) and parent.right is node
    return divides or called(parent, "log", "sqrt", "rsqrt")


# Modules


def super_deleted(script: Script) -> Mutants:
    for node in script.walk(ast.Expr):
        if called(node.value, "__init__") and called(node.value.func.value, "super") and is_module(script, node):
            yield node.lineno, [script.drop(node)]


def is_module(script: Script, node: ast.AST) -> bool:
    """Whether a node is in a class that derives from a module, by its written bases."""
    holder = next((one for one in script.above(node) if isinstance(one, ast.ClassDef)), None)
    return holder is not None and any(last_name(base) in ("Module", "LightningModule") for base in holder.bases)


def plain_list(script: Script) -> Mutants:
    for node in script.walk(ast.Call):
        if called(node, "ModuleList") and len(node.args) <= 1 and not node.keywords:
            inner = node.args[0] if node.args else None
            text = script.source(inner) if isinstance(inner, (ast.List, ast.ListComp)) else f"list({script.source(inner)})" if inner else "[]"
            yield node.lineno, [script.replace(node, text)]


def dropout_always_on(script: Script) -> Mutants:
    """Functional dropout without the mode."""
    for node in script.walk(ast.Call):
        flag = [one for one in node.keywords if one.arg == "training"]
        if called(node, "dropout") and flag and ast.unparse(flag[0].value) == "self.training" and node.args:
            rest = [script.source(one) for one in [*node.args, *(one for one in node.keywords if one is not flag[0])]]
            yield node.lineno, [script.replace(node, f"{ast.unparse(node.func)}({', '.join(rest)})")]
    layers = {ast.unparse(node.targets[0]) for node in script.walk(ast.Assign) if called(node.value, "Dropout")}
    for node in script.walk(ast.Call):
        if "import torch" in script.text and ast.unparse(node.func) in layers and len(node.args) == 1 and getattr(script.function(node), "name", "") == "forward":
            yield node.lineno, [script.replace(node, f"torch.nn.functional.dropout({script.source(node.args[0])}, 0.1)")]


# Devices and data


def device_dropped(script: Script) -> Mutants:
    """One of the tensors of a batch stays where it was loaded; wrappers for several GPUs move it themselves."""
    if "DataParallel" in script.text:
        return
    for node in script.walk(ast.Assign):
        if script.loop(node) and len(node.targets) == 1:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            names = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
            for part, name in list(zip(parts, names))[:1]:
                if moves(part) and receiver(part) == ast.unparse(name):
                    yield node.lineno, [script.replace(part, receiver(part))]


def result_dropped(script: Script) -> Mutants:
    for node in script.walk(ast.Assign):
        if script.loop(node) and len(node.targets) == 1 and moves(node.value) and receiver(node.value) == ast.unparse(node.targets[0]):
            yield node.lineno, [script.replace(node, script.source(node.value))]


def set_epoch_dropped(script: Script) -> Mutants:
    for node, _ in method_statements(script, "set_epoch"):
        yield node.lineno, [script.drop(node)]


def shuffle_dropped(script: Script) -> Mutants:
    for node in script.walk(ast.Call):
        for one in node.keywords:
            if called(node, "DataLoader") and one.arg == "shuffle" and ast.unparse(one.value) == "True" and not evaluation_data(script, node):
                yield node.lineno, [script.replace(one.value, "False")]


def evaluation_data(script: Script, call: ast.Call) -> bool:
    """Whether a loader is for evaluation, by what it and its function are called."""
    target = next((one for one in script.above(call) if isinstance(one, ast.Assign)), None)
    names = [*(map(ast.unparse, target.targets) if target else ()), *map(ast.unparse, call.args[:1]), getattr(script.function(call), "name", "")]
    return any(re.search(r"val|test|dev", name, re.I) for name in names)


def sampler_dropped(script: Script) -> Mutants:
    """The sampler of a distributed run is not given to the loader."""
    made = {ast.unparse(node.targets[0]) for node in script.walk(ast.Assign) if called(node.value, "DistributedSampler")}
    for node in script.walk(ast.Call):
        for one in node.keywords:
            if called(node, "DataLoader") and one.arg == "sampler" and ast.unparse(one.value) in made and "train" in ast.unparse(one.value):
                yield node.lineno, [script.replace(one.value, "None")]


def batch_is_dataset(script: Script) -> Mutants:
    for node in script.walk(ast.Call):
        for one in node.keywords:
            if called(node, "DataLoader") and one.arg == "batch_size" and node.args and isinstance(node.args[0], ast.Name) and "train" in ast.unparse(node.args[0]):
                yield node.lineno, [script.replace(one.value, f"len({ast.unparse(node.args[0])})")]


#: Each operator with the rules of which one has to speak of what it broke.
OPERATORS: dict[Callable[[Script], Mutants], set[str]] = {
    clear_deleted: {"missing-zero-grad"},
    clear_before_step: {"misplaced-zero-grad"},
    step_deleted: {"backward-without-step"},
    loss_detached: {"detached-loss"},
    backward_not_called: {"misspelt-attribute", "backward-without-step", "nothing-trains"},
    graph_retained: {"needless-retain-graph"},
    optimizer_in_loop: {"optimizer-built-in-loop"},
    accumulation_unscaled: {"unscaled-accumulation"},
    clip_moved: {"misplaced-clipping"},
    unscale_deleted: {"clip-before-unscale"},
    scaler_update_deleted: {"scaler-not-updated"},
    scheduler_first: {"scheduler-before-optimizer"},
    no_grad_dropped: {"missing-no-grad", "retained-graph"},
    eval_dropped: {"missing-eval-mode"},
    train_dropped: {"stuck-in-eval"},
    item_dropped: {"retained-graph"},
    hidden_kept: {"undetached-hidden-state", "retained-graph"},
    softmax_added: {"softmax-before-cross-entropy"},
    logits_as_probabilities: {"sigmoid-mismatch"},
    logits_flag_dropped: {"keras-logits-mismatch"},
    epsilon_dropped: {"unsafe-division", "unsafe-log", "unsafe-root", "log-of-softmax"},
    super_deleted: {"missing-super-init"},
    plain_list: {"unregistered-submodule"},
    dropout_always_on: {"always-on-dropout"},
    device_dropped: {"device-mismatch"},
    result_dropped: {"dropped-result", "device-mismatch"},
    set_epoch_dropped: {"missing-set-epoch"},
    shuffle_dropped: {"unshuffled-training-data"},
    sampler_dropped: {"missing-distributed-sampler"},
    batch_is_dataset: {"full-dataset-batch"},
    **mutation_values.OPERATORS,
}
