"""Ways to break what a right training script computes: losses, shapes, devices and graphs; and scripts of TensorFlow and
JAX. `mutation_operators` says what an operator is.
"""

from __future__ import annotations

import ast
import re
from typing import Callable

from mutation_script import Edit, Mutants, Script, called, inside, last_name, method_statements, moves, optimizer_steps, receiver, scheduler_statements

# Calls that are not made


def not_called(script: Script, name: str) -> Mutants:
    for node, call in method_statements(script, name):
        if not call.args and not call.keywords:
            yield node.lineno, [script.replace(call, script.source(call.func))]


def step_not_called(script: Script) -> Mutants:
    steps = optimizer_steps(script, script.tree)
    lines = {call.lineno for call in steps if len(steps) == 1 and inside(script.function(call), "backward")}
    yield from ((line, edits) for line, edits in not_called(script, "step") if line in lines)


def clear_not_called(script: Script) -> Mutants:
    yield from not_called(script, "zero_grad")


def eval_not_called(script: Script) -> Mutants:
    yield from not_called(script, "eval")


def loss_item(script: Script) -> Mutants:
    """`backward` is asked of the number."""
    for node, call in method_statements(script, "backward"):
        if isinstance(call.func.value, ast.Name) and not call.args and not call.keywords:
            yield node.lineno, [script.replace(call.func.value, f"{receiver(call)}.item()")]


# Schedules

#: Schedules that count epochs as people use them, and those that count batches.
OF_EPOCHS = ("StepLR", "MultiStepLR", "ExponentialLR")
OF_BATCHES = ("OneCycleLR", "get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup")


def schedules(script: Script, *kinds: str) -> set[str]:
    return {ast.unparse(node.targets[0]) for node in script.walk(ast.Assign) if called(node.value, *kinds)}


def schedule_every_batch(script: Script) -> Mutants:
    """What steps after an epoch steps after each batch."""
    known = schedules(script, *OF_EPOCHS)
    for node in scheduler_statements(script):
        loop = script.loop(node)
        if loop and node in loop.body and receiver(node.value) in known and not node.value.args:
            inner = [one for one in ast.walk(loop) if isinstance(one, ast.Expr) and one.value in optimizer_steps(script, loop) and script.loop(one) not in (loop, None)]
            if len(inner) == 1 and inner[0] in script.loop(inner[0]).body:
                yield node.lineno, [script.drop(node), script.put_after(inner[0], node)]


def schedule_every_epoch(script: Script) -> Mutants:
    """What steps after each batch steps after an epoch."""
    known = schedules(script, *OF_BATCHES)
    for node in scheduler_statements(script):
        loop = script.loop(node)
        outer = script.loop(loop) if loop else None
        if outer and loop in outer.body and node in loop.body and receiver(node.value) in known:
            yield node.lineno, [script.drop(node), script.put_after(loop, node)]


# Losses


def criteria(script: Script, *names: str) -> set[str]:
    """What losses of these names are called in the script, without arguments that change what they expect."""
    made = [node for node in script.walk(ast.Assign) if len(node.targets) == 1]
    return {ast.unparse(node.targets[0]) for node in made for call in inside(node.value, *names) if not call.keywords or called(node.value, *names)}


def loss_calls(script: Script, classes: tuple[str, ...], functions: tuple[str, ...]) -> list[ast.Call]:
    """Calls of such a loss with two plain arguments or more, in functions that train."""
    known = criteria(script, *classes)
    found = [node for node in script.walk(ast.Call) if len(node.args) >= 2 and (ast.unparse(node.func) in known or called(node, *functions))]
    return [node for node in found if trains(script, node) and not any(isinstance(one, ast.Starred) for one in node.args)]


def trains(script: Script, node: ast.AST) -> bool:
    """Whether a node is where a loss is used for a backward pass, as far as its function shows."""
    function = script.function(node)
    return bool(inside(function, "backward")) or getattr(function, "name", "") == "training_step"


def torch_script(script: Script) -> bool:
    return bool(re.search(r"^\s*import torch\b", script.text, re.M))


def sigmoid_added(script: Script) -> Mutants:
    if torch_script(script):
        for node in loss_calls(script, ("BCEWithLogitsLoss",), ("binary_cross_entropy_with_logits",)):
            yield node.lineno, [script.replace(node.args[0], f"torch.sigmoid({script.source(node.args[0])})")]


def argmax_added(script: Script) -> Mutants:
    """Cross entropy gets the class that was predicted."""
    for node in loss_calls(script, ("CrossEntropyLoss",), ("cross_entropy",)):
        if torch_script(script):
            yield node.lineno, [script.replace(node.args[0], f"torch.argmax({script.source(node.args[0])}, dim=1)")]


def arguments_swapped(script: Script) -> Mutants:
    for node in loss_calls(script, ("CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss"), ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")):
        first, second = node.args[:2]
        yield node.lineno, [script.replace(first, script.source(second)), script.replace(second, script.source(first))]


def log_dropped(script: Script) -> Mutants:
    """A softmax where the loss, in this file, expects its logarithm."""
    if re.search(r"nll_loss|NLLLoss", script.text) and not re.search(r"kl_div|KLDivLoss", script.text):
        for node in script.walk(ast.Call):
            if called(node, "log_softmax", "LogSoftmax") and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in ("F", "nn", "torch.nn", "torch.nn.functional"):
                name = "softmax" if last_name(node.func) == "log_softmax" else "Softmax"
                yield node.lineno, [script.replace(node.func, f"{ast.unparse(node.func.value)}.{name}")]


def softmax_over_batch(script: Script) -> Mutants:
    """A log-softmax of classes is taken over the samples."""
    if re.search(r"nll_loss|NLLLoss", script.text):
        for node in script.walk(ast.Call):
            axis = [one for one in node.keywords if one.arg == "dim"]
            value = axis[0].value if axis else node.args[1] if len(node.args) == 2 else None
            if called(node, "log_softmax") and value is not None and ast.unparse(value) in ("1", "-1"):
                yield node.lineno, [script.replace(value, "0")]


def divergence_of_probabilities(script: Script) -> Mutants:
    """The first argument of a KL divergence is not a logarithm."""
    for node in script.walk(ast.Call):
        if node.args and (called(node, "kl_div") or ast.unparse(node.func) in criteria(script, "KLDivLoss")):
            first = node.args[0]
            if called(first, "log_softmax") and isinstance(first.func, ast.Attribute):
                yield node.lineno, [script.replace(first.func, f"{ast.unparse(first.func.value)}.softmax")]


def target_dtype_dropped(script: Script) -> Mutants:
    """The targets of a loss are not converted."""
    for classes, functions, method in ((("BCELoss", "BCEWithLogitsLoss"), ("binary_cross_entropy", "binary_cross_entropy_with_logits"), "float"), (("CrossEntropyLoss", "NLLLoss"), ("cross_entropy", "nll_loss"), "long")):
        for node in loss_calls(script, classes, functions):
            if called(node.args[1], method) and not node.args[1].args:
                yield node.lineno, [script.replace(node.args[1], receiver(node.args[1]))]


def reduction_dropped(script: Script) -> Mutants:
    """A loss keeps a value for each sample, and `backward` is called on it."""
    for node in script.walk(ast.Assign):
        loss = node.value
        if called(loss, "CrossEntropyLoss", "MSELoss", "BCELoss", "BCEWithLogitsLoss", "NLLLoss", "L1Loss", "SmoothL1Loss") and not loss.args and not loss.keywords:
            name = ast.unparse(node.targets[0])
            calls = [one for one in script.walk(ast.Assign) if isinstance(one.value, ast.Call) and ast.unparse(one.value.func) == name]
            walked = [one for one in calls if ast.unparse(one.targets[0]) in map(receiver, inside(script.function(one), "backward"))]
            if walked:
                yield walked[0].lineno, [script.replace(loss, f'{ast.unparse(loss.func)}(reduction="none")')]


def mean_dropped(script: Script) -> Mutants:
    """`loss = loss.mean()` is left out, or the mean of several GPUs."""
    for node in script.walk(ast.Assign):
        if called(node.value, "mean") and not node.value.args and len(node.targets) == 1 and receiver(node.value) == ast.unparse(node.targets[0]):
            if receiver(node.value) in map(receiver, inside(script.function(node), "backward")) and "DataParallel" not in script.text:
                yield node.lineno, [script.drop(node)]


# Shapes


def literal(node: ast.AST, least: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= least


def first_resized(script: Script, least: int, *names: str) -> Mutants:
    """The first size of a layer of PyTorch is one more than what it gets."""
    for node in script.walk(ast.Call):
        if called(node, *names) and re.search(r"^(torch\.)?nn\.", ast.unparse(node.func)) and node.args and literal(node.args[0], least):
            yield node.lineno, [script.replace(node.args[0], str(node.args[0].value + 1))]


def linear_resized(script: Script) -> Mutants:
    yield from first_resized(script, 4, "Linear")


def linear_swapped(script: Script) -> Mutants:
    """The two sizes of a layer are the wrong way round."""
    for node in script.walk(ast.Call):
        if called(node, "Linear") and re.search(r"^(torch\.)?nn\.", ast.unparse(node.func)) and len(node.args) >= 2 and not any(isinstance(one, ast.Starred) for one in node.args):
            first, second = node.args[:2]
            if ast.unparse(first) != ast.unparse(second):
                yield node.lineno, [script.replace(first, script.source(second)), script.replace(second, script.source(first))]


def convolution_resized(script: Script) -> Mutants:
    yield from first_resized(script, 4, "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d")


def norm_resized(script: Script) -> Mutants:
    yield from first_resized(script, 4, "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm")


def view_resized(script: Script) -> Mutants:
    """What is flattened is given another size."""
    for node in script.walk(ast.Call):
        if called(node, "view", "reshape") and len(node.args) == 2 and literal(node.args[1], 16):
            yield node.lineno, [script.replace(node.args[1], str(node.args[1].value + 1))]


def flatten_dropped(script: Script) -> Mutants:
    """`x = x.view(x.size(0), -1)` is left out, before a layer of features."""
    for node in script.walk(ast.Assign):
        if getattr(script.function(node), "name", "") != "forward" or len(node.targets) != 1:
            continue
        target, value = ast.unparse(node.targets[0]), ast.unparse(node.value)
        if re.fullmatch(rf"{re.escape(target)}\.(view|reshape)\({re.escape(target)}\.(size\(0\)|shape\[0\]), -1\)|torch\.flatten\({re.escape(target)}, 1\)|{re.escape(target)}\.flatten\(1\)", value):
            yield node.lineno, [script.drop(node)]


def skip_dropped(script: Script) -> Mutants:
    """What a skip connection brings is not concatenated."""
    for node in script.walk(ast.Assign):
        value = node.value
        if getattr(script.function(node), "name", "") == "forward" and called(value, "cat", "concat") and len(node.targets) == 1 and value.args and isinstance(value.args[0], (ast.List, ast.Tuple)) and len(value.args[0].elts) == 2:
            axis = [*value.args[1:], *(one.value for one in value.keywords)]
            if len(axis) == 1 and ast.unparse(axis[0]) == "1" and not script.loop(node):
                yield node.lineno, [script.replace(value, script.source(value.args[0].elts[0]))]


def squeeze_dropped(script: Script) -> Mutants:
    """What a loss compares has a dimension of one too many."""
    for node in loss_calls(script, ("MSELoss", "BCELoss", "BCEWithLogitsLoss", "L1Loss", "SmoothL1Loss"), ("mse_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "smooth_l1_loss", "l1_loss")):
        if called(node.args[0], "squeeze") and isinstance(node.args[0].func.value, (ast.Name, ast.Call)) and not called(node.args[1], "squeeze"):
            yield node.lineno, [script.replace(node.args[0], receiver(node.args[0]))]


# Devices


def target_left(script: Script) -> Mutants:
    """The last of the tensors of a batch stays where it was loaded."""
    if "DataParallel" in script.text:
        return
    for node in script.walk(ast.Assign):
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else []
        if len(parts) > 1 and all(map(moves, parts)) and script.loop(node):
            yield node.lineno, [script.replace(parts[-1], receiver(parts[-1]))]


def model_left(script: Script) -> Mutants:
    """The model stays on the CPU, where its batches are moved."""
    if "DataParallel" in script.text or not any(moves(node) and script.loop(node) for node in script.walk(ast.Call)):
        return
    trained = {receiver(call) for call in inside(script.tree, "parameters") if isinstance(call.func, ast.Attribute)}
    for node in script.walk(ast.Assign, ast.Expr):
        move = node.value
        if not (called(move, "to", "cuda") and isinstance(move.func, ast.Attribute)):
            continue
        target = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else receiver(move)
        if target in trained and (called(move, "cuda") or "device" in ast.unparse(move)) and not script.loop(node):
            if isinstance(move.func.value, ast.Call) and isinstance(node, ast.Assign):
                yield node.lineno, [script.replace(move, script.source(move.func.value))]
            elif receiver(move) == target:
                yield node.lineno, [script.drop(node)]


def device_argument_dropped(script: Script) -> Mutants:
    """A tensor that is created in `forward` is created on the CPU."""
    for node in script.walk(ast.Call):
        if called(node, "zeros", "ones", "randn", "rand", "randint", "full") and ast.unparse(node.func).startswith("torch.") and getattr(script.function(node), "name", "") == "forward":
            rest = [one for one in [*node.args, *node.keywords] if getattr(one, "arg", None) != "device"]
            if len(rest) < len(node.args) + len(node.keywords):
                yield node.lineno, [script.replace(node, f"{ast.unparse(node.func)}({', '.join(map(script.source, rest))})")]


def buffer_lost(script: Script) -> Mutants:
    """A tensor is a plain attribute and no buffer."""
    for node, call in method_statements(script, "register_buffer"):
        if len(call.args) == 2 and receiver(call) == "self" and isinstance(call.args[0], ast.Constant) and not call.keywords:
            yield node.lineno, [script.replace(call, f"self.{call.args[0].value} = ({script.source(call.args[1])})")]


def parameter_moved(script: Script) -> Mutants:
    """A parameter is moved before the module registers it."""
    for node in script.walk(ast.Assign):
        if called(node.value, "Parameter") and ast.unparse(node.targets[0]).startswith("self."):
            yield node.lineno, [script.replace(node.value, f"{script.source(node.value)}.cuda()")]


# Graphs


def target_kept_in_graph(script: Script) -> Mutants:
    """The target of a temporal difference keeps its graph."""
    for node in script.walk(ast.With):
        if len(node.items) == 1 and called(node.items[0].context_expr, "no_grad") and discounted(node) and trains(script, node):
            yield node.lineno, [Edit(script.start(node), script.end(node.items[0].context_expr), "if True")]
    for node in script.walk(ast.Call):
        statement = next((one for one in script.above(node) if isinstance(one, ast.stmt)), None)
        if called(node, "detach") and not node.args and trains(script, node) and isinstance(statement, ast.Assign) and re.search(r"target|next", ast.unparse(statement)) and re.search(r"\bmax\(", ast.unparse(node)):
            yield node.lineno, [script.replace(node, script.source(node.func.value))]


def discounted(node: ast.AST) -> bool:
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult) and re.search("gamma|discount", ast.unparse(one), re.I) and "(" in ast.unparse(one) for one in ast.walk(node))


def generated_kept_in_graph(script: Script) -> Mutants:
    """The discriminator walks through the generator, whose graph the generator's own loss needs afterwards."""
    for node in script.walk(ast.Call):
        name, function = ast.unparse(node.func), script.function(node)
        if len(node.args) == 1 and called(node.args[0], "detach") and isinstance(node.args[0].func.value, ast.Name) and name not in ("float", "int"):
            fake = receiver(node.args[0])
            again = [one for one in inside(function, last_name(node.func)) if one.lineno > node.lineno and one.args and ast.unparse(one.args[0]) == fake]
            made = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and fake in map(ast.unparse, one.targets) and node.lineno < one.lineno < again[0].lineno] if again else []
            walked = [one for one in inside(function, "backward") if again and node.lineno < one.lineno < again[0].lineno]
            if walked and not made:
                yield node.lineno, [script.replace(node.args[0], fake)]


def meter_keeps_graph(script: Script) -> Mutants:
    """A running average gets the loss with its graph."""
    for node in script.walk(ast.Call):
        first = node.args[0] if node.args else None
        if called(node, "update") and called(first, "item") and isinstance(first.func.value, ast.Name) and re.search(r"loss|meter", receiver(node), re.I):
            loop = script.loop(node)
            if loop is not None and receiver(first) in map(receiver, inside(loop, "backward")):
                yield node.lineno, [script.replace(first, receiver(first))]


# Scaled gradients


def scaler_bypassed(script: Script) -> Mutants:
    for node, call in method_statements(script, "step"):
        if re.search(r"scaler$", receiver(call), re.I) and len(call.args) == 1:
            yield node.lineno, [script.replace(call, f"{script.source(call.args[0])}.step()")]


def scale_dropped(script: Script) -> Mutants:
    for node, call in method_statements(script, "backward"):
        if called(call.func.value, "scale") and len(call.func.value.args) == 1 and re.search(r"scaler$", receiver(call.func.value), re.I):
            yield node.lineno, [script.replace(call.func.value, script.source(call.func.value.args[0]))]


# Freezing


def flag_misspelt(script: Script) -> Mutants:
    for node in script.walk(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and isinstance(node.value, ast.Constant):
            yield node.lineno, [script.replace(target, f"{script.source(target.value)}.require_grad")]


# TensorFlow, Keras and JAX


def label_encoding(script: Script) -> Mutants:
    for node in script.walk(ast.Constant):
        if node.value in ("sparse_categorical_crossentropy", "categorical_crossentropy") and isinstance(script.parents[node], ast.keyword) and script.parents[node].arg == "loss":
            other = node.value.removeprefix("sparse_") if node.value.startswith("sparse_") else f"sparse_{node.value}"
            yield node.lineno, [script.replace(node, f'"{other}"')]


def activation_dropped(script: Script) -> Mutants:
    if re.search(r"loss\s*=\s*[\"'](sparse_categorical|categorical|binary)_crossentropy", script.text):
        for node in script.walk(ast.keyword):
            if node.arg == "activation" and ast.unparse(node.value) in ("'softmax'", "'sigmoid'") and called(script.parents[node], "Dense"):
                yield node.value.lineno, [script.replace(node.value, "None")]


def training_flag_dropped(script: Script) -> Mutants:
    for node in script.walk(ast.With):
        if any(called(one.context_expr, "GradientTape") for one in node.items):
            for call in (one for one in ast.walk(node) if isinstance(one, ast.Call)):
                flag = [one for one in call.keywords if one.arg == "training" and ast.unparse(one.value) == "True"]
                if flag and len(call.args) == 1 and len(call.keywords) == 1:
                    yield call.lineno, [script.replace(call, f"{script.source(call.func)}({script.source(call.args[0])})")]


def gradients_swapped(script: Script) -> Mutants:
    for node in script.walk(ast.Call):
        if called(node, "apply_gradients") and node.args and called(node.args[0], "zip") and len(node.args[0].args) == 2:
            first, second = node.args[0].args
            yield node.lineno, [script.replace(first, script.source(second)), script.replace(second, script.source(first))]


def key_kept(script: Script) -> Mutants:
    """A key that is split in a loop is used as it is."""
    for node in script.walk(ast.Assign):
        target = node.targets[0]
        if called(node.value, "split") and "random" in ast.unparse(node.value.func) and isinstance(target, ast.Tuple) and len(target.elts) == 2 and len(node.value.args) == 1:
            key, other = map(ast.unparse, target.elts)
            if script.loop(node) and ast.unparse(node.value.args[0]) == key:
                yield node.lineno, [script.replace(node, f"{other} = {key}")]


#: Each operator with the rules of which one has to speak of what it broke.
OPERATORS: dict[Callable[[Script], Mutants], set[str]] = {
    step_not_called: {"backward-without-step", "misspelt-attribute"},
    clear_not_called: {"misspelt-attribute", "missing-zero-grad"},
    eval_not_called: {"misspelt-attribute", "missing-eval-mode"},
    loss_item: {"detached-loss", "misspelt-attribute"},
    schedule_every_batch: {"scheduler-granularity"},
    schedule_every_epoch: {"scheduler-granularity"},
    sigmoid_added: {"sigmoid-mismatch"},
    argmax_added: {"detached-loss", "wrong-target-dtype", "dtype-mismatch"},
    arguments_swapped: {"swapped-loss-arguments", "wrong-target-dtype"},
    log_dropped: {"nll-without-log-softmax"},
    softmax_over_batch: {"wrong-softmax-axis"},
    divergence_of_probabilities: {"misused-kl-divergence"},
    target_dtype_dropped: {"wrong-target-dtype", "dtype-mismatch"},
    reduction_dropped: {"non-scalar-backward"},
    mean_dropped: {"non-scalar-backward"},
    linear_resized: {"shape-mismatch"},
    linear_swapped: {"shape-mismatch"},
    convolution_resized: {"shape-mismatch"},
    norm_resized: {"shape-mismatch"},
    view_resized: {"shape-mismatch"},
    flatten_dropped: {"shape-mismatch"},
    skip_dropped: {"shape-mismatch"},
    squeeze_dropped: {"broadcast-loss", "wrong-target-dtype", "shape-mismatch"},
    target_left: {"device-mismatch"},
    model_left: {"device-mismatch"},
    device_argument_dropped: {"cpu-tensor-in-forward", "device-mismatch"},
    buffer_lost: {"cpu-tensor-in-forward", "device-mismatch"},
    parameter_moved: {"parameter-lost-by-transfer"},
    target_kept_in_graph: {"missing-detach"},
    generated_kept_in_graph: {"undetached-hidden-state", "inplace-between-backwards"},
    meter_keeps_graph: {"retained-graph"},
    scaler_bypassed: {"step-bypasses-scaler"},
    scale_dropped: {"half-precision-without-scaler", "raw-backward"},
    flag_misspelt: {"misspelt-attribute"},
    label_encoding: {"label-encoding-mismatch"},
    activation_dropped: {"keras-logits-mismatch"},
    training_flag_dropped: {"missing-training-flag"},
    gradients_swapped: {"swapped-gradients"},
    key_kept: {"reused-key"},
}
