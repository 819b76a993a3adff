"""Runs a script with everything watched. A process watches one run: nothing of PyTorch is put back afterwards."""

from __future__ import annotations

import builtins
import functools
import os
import signal
import sys
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .facts import Facts, rules_of_error
from .gradients import Gradients
from .graphs import Graphs, tensors
from .losses import WATCHED, Losses
from .places import Places
from .protocols import Protocols
from .values import Values


class Stop(BaseException):
    """Enough has been seen."""


class Watch:
    """All that is known of one run."""

    def __init__(self, folder: str, most_steps: int, values: bool) -> None:
        self.places = Places(folder)
        self.facts = Facts(self.places)
        self.gradients = Gradients(self.facts)
        self.graphs = Graphs(self.facts, self.places, self.gradients)
        self.losses = Losses(self.facts, self.places)
        self.protocols = Protocols(self.facts, self.places, self.gradients)
        self.values = Values(self.places.folder) if values else None
        self.most_steps = most_steps
        self.in_schedule = 0

    def install(self) -> None:
        self._watch_modules()
        self._watch_backwards()
        self._watch_optimizers()
        self._watch_clipping()
        self._watch_scalers()
        self._watch_schedules()
        self._watch_losses()

    def _watch_modules(self) -> None:
        graphs, gradients = self.graphs, self.gradients
        new = nn.Parameter.__new__

        def parameter(cls: type, *args: Any, **kwargs: Any) -> Any:
            made = new(cls, *args, **kwargs)
            gradients.watch(made)
            return made

        nn.Parameter.__new__ = parameter  # type: ignore[method-assign]
        replace(nn.Module, "__call__", lambda f: lambda module, *a, **k: graphs.call(f, module, a, k))

        def dropout(f: Callable) -> Callable:
            def run(input: Any, p: float = 0.5, training: bool = True, *a: Any, **k: Any) -> Any:
                graphs.on_dropout(training, p)
                return f(input, p, training, *a, **k)
            return run

        replace(F, "dropout", dropout)

    def _watch_backwards(self) -> None:
        scaled_root = self.protocols.scaled_root

        def backward(f: Callable) -> Callable:
            def run(roots: Any, *a: Any, **k: Any) -> Any:
                retains = bool(k.get("retain_graph", a[1] if len(a) > 1 else None))
                return self.graphs.backward(f, roots, retains, scaled_root, a, k)
            return run

        def grad(f: Callable) -> Callable:
            def run(outputs: Any, *a: Any, **k: Any) -> Any:
                # What is made to be differentiated again is kept for that.
                retains = bool(k.get("retain_graph")) and not k.get("create_graph")
                return self.graphs.backward(f, outputs, retains, scaled_root, a, k)
            return run

        replace(torch.autograd, "backward", backward)
        replace(torch.autograd, "grad", grad)

    def _watch_optimizers(self) -> None:
        def built(f: Callable) -> Callable:
            def init(optimizer: Any, *a: Any, **k: Any) -> None:
                f(optimizer, *a, **k)
                self.gradients.on_built(optimizer, self.places.stack())
            return init

        def before(optimizer: Any, args: tuple, kwargs: dict) -> None:
            closure = bool(args and callable(args[0])) or callable(kwargs.get("closure"))
            self.gradients.before_step(optimizer, self.places.stack(), closure)
            if self.gradients.steps_done >= self.most_steps:
                raise Stop

        replace(torch.optim.Optimizer, "__init__", built)
        register_optimizer_step_pre_hook(before)
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: self.gradients.after_step(optimizer))

    def _watch_clipping(self) -> None:
        def clip(f: Callable) -> Callable:
            def run(parameters: Any, *a: Any, **k: Any) -> Any:
                listed = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
                self.protocols.on_clip(listed, a[0] if a else k.get("max_norm", k.get("clip_value")))
                return f(listed, *a, **k)
            return run

        for name in ("clip_grad_norm_", "clip_grad_value_"):
            replace(nn.utils, name, clip)

    def _watch_scalers(self) -> None:
        protocols, gradients = self.protocols, self.gradients

        def scale(f: Callable) -> Callable:
            def run(scaler: Any, outputs: Any) -> Any:
                out = f(scaler, outputs)
                if scaler.is_enabled():
                    protocols.on_scaled(tensors(outputs), tensors(out))
                return out
            return run

        def unscale(f: Callable) -> Callable:
            def run(scaler: Any, optimizer: Any) -> Any:
                if scaler.is_enabled():
                    gradients.unscaled.add(id(optimizer))
                return f(scaler, optimizer)
            return run

        def step(f: Callable) -> Callable:
            def run(scaler: Any, optimizer: Any, *a: Any, **k: Any) -> Any:
                gradients.in_scaler = scaler.is_enabled()
                if scaler.is_enabled():
                    protocols.on_scaler_step(scaler)
                before = gradients.steps[id(optimizer)]
                try:
                    return f(scaler, optimizer, *a, **k)
                finally:
                    gradients.in_scaler = False
                    if gradients.steps[id(optimizer)] == before:
                        gradients.on_skipped(optimizer)
            return run

        def update(f: Callable) -> Callable:
            def run(scaler: Any, *a: Any, **k: Any) -> Any:
                if scaler.is_enabled():
                    protocols.on_scaler_update(scaler)
                return f(scaler, *a, **k)
            return run

        for name, wrapper in (("scale", scale), ("unscale_", unscale), ("step", step), ("update", update)):
            replace(torch.amp.GradScaler, name, wrapper)

    def _watch_schedules(self) -> None:
        from torch.optim import lr_scheduler

        def step(f: Callable) -> Callable:
            def run(scheduler: Any, *a: Any, **k: Any) -> Any:
                # Constructors step once, and schedules of schedules step their parts.
                if not self.in_schedule:
                    self.protocols.on_schedule(scheduler, a)
                self.in_schedule += 1
                try:
                    return f(scheduler, *a, **k)
                finally:
                    self.in_schedule -= 1
            return run

        def quietly(f: Callable) -> Callable:
            def run(*a: Any, **k: Any) -> Any:
                self.in_schedule += 1
                try:
                    return f(*a, **k)
                finally:
                    self.in_schedule -= 1
            return run

        for kind in vars(lr_scheduler).values():
            if isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler):
                if "step" in vars(kind):
                    replace(kind, "step", step)
                if "__init__" in vars(kind):
                    replace(kind, "__init__", quietly)

    def _watch_losses(self) -> None:
        for kind in WATCHED:
            def loss(f: Callable, kind: str = kind) -> Callable:
                def run(*a: Any, **k: Any) -> Any:
                    self.losses.on_loss(kind, a, k)
                    return f(*a, **k)
                return run
            replace(F, kind, loss)

        def minus(f: Callable) -> Callable:
            def run(left: Any, right: Any) -> Any:
                self.losses.on_difference(left, right)
                return f(left, right)
            return run

        replace(torch.Tensor, "__sub__", minus)

    def finish(self, failed: bool) -> None:
        self.losses.finish()
        self.graphs.finish()
        self.protocols.finish()
        # What a script that ends with an error would have done after it, nobody knows.
        if not failed:
            self.gradients.finish(self.graphs.ran)

    def result(self, stopped: bool, error: str | None) -> dict:
        return {
            "stopped": stopped,
            "error": error,
            "steps": self.gradients.steps_done,
            "backwards": len(self.gradients.backwards),
            "facts": self.facts.told,
            "values": self.values.told() if self.values else [],
        }


def replace(owner: Any, name: str, wrapper: Callable[[Callable], Callable]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(wrapper(original)))


def run(path: str, arguments: list[str], most_steps: int = 60, seconds: float = 20, values: bool = False, cuda: bool = False, preamble: str = "") -> dict:
    """Runs a script as `python path arguments` would, after a preamble in its namespace, and says what was seen."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    watch = Watch(folder, most_steps, values)
    if cuda:
        from . import devices
        devices.pretend()
    watch.install()
    sys.argv, sys.path[0:0] = [path, *arguments], [folder]
    os.chdir(folder)
    space = {"__name__": "__main__", "__file__": path, "__builtins__": builtins}
    module = type(sys)("__main__")
    module.__dict__.update(space)
    sys.modules["__main__"] = module

    def late(*_: Any) -> None:
        raise Stop

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    stopped, error = False, None
    try:
        if watch.values:
            watch.values.import_hook()
        exec(compile(preamble, "<preamble>", "exec"), module.__dict__)
        code = watch.values.compiled(path) if watch.values else compile(open(path).read(), path, "exec")
        exec(code, module.__dict__)
    except Stop:
        stopped = True
    except SystemExit as ended:
        error = f"SystemExit: {ended}" if ended.code not in (None, 0) else None
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}".strip()
        rules = rules_of_error(error)
        watch.facts.say(rules[0] if rules else "error", watch.places.of_error(raised), error[:300])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    watch.finish(bool(error))
    return watch.result(stopped, error)
