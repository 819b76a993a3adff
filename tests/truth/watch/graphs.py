"""Calls of models: in which mode, with or without a graph, whether a backward walks it, and how long it lives."""

from __future__ import annotations

import weakref
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import torch
from torch import nn

from .facts import Facts
from .gradients import Backward, Gradients
from .places import Places, Stack

MODE_DEPENDENT = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)
# Graphs of earlier iterations that are compared with the one that a backward walks.
RECENT = 200


class Sentinel:
    """Lives as long as the node of a graph that holds it in its metadata."""


@dataclass(eq=False)
class Call:
    """A call of a module that the script made, and not another module."""

    name: str
    grad: bool
    training: bool
    mode_dependent: bool = False
    recorded: bool = False
    walked: int = 0
    walked_late: int = 0
    outlived: int = 0
    outlived_beside: int = 0  # calls of the same iteration
    after: int = 0  # so many backward passes came before it
    sentinels: list[Any] = field(default_factory=list)


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors(one)


class Graphs:
    def __init__(self, facts: Facts, places: Places, gradients: Gradients) -> None:
        self.facts, self.places, self.gradients = facts, places, gradients
        self.calls: dict[Stack, list[Call]] = defaultdict(list)
        self.open: list[tuple[nn.Module, Call | None]] = []
        self.ran: set[int] = set()
        self.evaluated: dict[int, Call] = {}

    def call(self, original: Callable, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        if isinstance(module, nn.modules.loss._Loss):
            return original(module, *args, **kwargs)
        outer = self.open[0][1] if self.open else None
        # What runs without gradients inside of a forward that has them was meant to learn.
        if torch.is_grad_enabled() or outer is not None and outer.grad:
            self.ran.update(id(p) for p in module._parameters.values() if p is not None and p.requires_grad)
        if self.open:
            return self._inner(original, module, args, kwargs)
        if next(module.parameters(), None) is None:
            return original(module, *args, **kwargs)
        return self._outer(original, module, args, kwargs)

    def _inner(self, original: Callable, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        outer = self.open[0][1]
        if isinstance(module, MODE_DEPENDENT) and getattr(module, "p", 1) > 0 and outer is not None:
            outer.mode_dependent |= module.training
        self.open.append((module, None))
        try:
            return original(module, *args, **kwargs)
        finally:
            self.open.pop()

    def _outer(self, original: Callable, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        at = self.places.stack()
        for parameter in module.parameters():
            self.gradients.watch(parameter)
        call = Call(type(module).__name__, torch.is_grad_enabled(), module.training)
        call.mode_dependent = isinstance(module, MODE_DEPENDENT) and module.training
        call.after = len(self.gradients.backwards)
        for earlier in self.calls[at]:
            lives = any(sentinel() is not None for sentinel in earlier.sentinels)
            if earlier.after < call.after:
                earlier.outlived += lives
            else:
                earlier.outlived_beside += lives
        self.open.append((module, call))
        try:
            out = original(module, *args, **kwargs)
        finally:
            self.open.pop()
        self.calls[at].append(call)
        for tensor in tensors(out):
            if tensor.grad_fn is not None:
                call.recorded = True
                tensor.grad_fn.register_prehook(lambda _, call=call: self.walk(call))
                held = tensor.grad_fn.metadata.setdefault("oracle", Sentinel())
                call.sentinels.append(weakref.ref(held))
        return out

    def walk(self, call: Call) -> None:
        """A backward pass goes through what a call has recorded."""
        if not self.gradients.backwards:
            return
        now = self.gradients.backwards[-1]
        if call not in now.calls:
            now.calls.append(call)
            for earlier in self.gradients.backwards[:-1][-RECENT:]:
                earlier.walked_again |= earlier.retains and call in earlier.calls
        call.walked += 1
        call.walked_late += call.outlived > 0

    def on_dropout(self, training: bool, p: float) -> None:
        """The function, not the layer."""
        if not training or p <= 0 or not self.open:
            return
        outer = self.open[0][1]
        if not self.open[-1][0].training:
            self.facts.say("always-on-dropout", self.places.stack(), "dropout in a module in evaluation mode")
        elif outer is not None:
            outer.mode_dependent = True

    def backward(self, original: Callable, roots: Any, retains: bool, scaled_root: Callable[[torch.Tensor], str | None], args: tuple, kwargs: dict) -> Any:
        at = self.places.stack()
        root = next(tensors(roots), None)
        name = type(root.grad_fn).__name__ if root is not None and root.grad_fn is not None else "leaf"
        scaled = scaled_root(root) if root is not None else None
        entry = Backward(at, scaled or name, scaled is not None, retains)
        if root is not None and not bool(torch.isfinite(root.detach().float()).all()):
            self.facts.say("loss-not-finite", at, str(root.detach().flatten()[:3].tolist()))
        self.gradients.backwards.append(entry)
        return original(roots, *args, **kwargs)

    def finish(self) -> None:
        for backward in self.gradients.backwards:
            if backward.retains and not backward.walked_again:
                self.facts.say("needless-retain-graph", backward.at, "nothing walked this graph again")
        trains = any(backward.reached for backward in self.gradients.backwards)
        for at, calls in self.calls.items():
            if calls:
                self._judge_calls(at, calls, trains)

    def _judge_calls(self, at: Stack, calls: list[Call], trains: bool) -> None:
        say, name = self.facts.say, calls[0].name
        walked = any(call.walked for call in calls)
        if len(calls) > 1 and not walked and all(call.grad and call.recorded for call in calls):
            fact = "unwalked-training-forward" if calls[-1].training else "missing-no-grad"
            say(fact, at, f"{len(calls)} graphs of {name}, none walked")
        # A loop without backward passes evaluates; in a training step outputs may be made to be cut off.
        evaluates = any(one.after == two.after for one, two in zip(calls, calls[1:]))
        if trains and evaluates and not walked and all(call.training and call.mode_dependent for call in calls):
            say("missing-eval-mode", at, f"{name} in training mode, never learned from: {len(calls)} calls")
        if walked and calls[0].training and calls[0].mode_dependent and not calls[-1].training and calls[-1].grad:
            say("stuck-in-eval", at, "began in training mode, ends in evaluation mode")
        # Where nothing is learned, each call is an iteration.
        lives = {call: call.outlived + (0 if call.walked else call.outlived_beside) for call in calls}
        lingering = [call for call in calls if lives[call] > 1 and not call.walked_late]
        if len(lingering) > 2:
            kind = "nodes of walked graphs" if any(call.walked for call in lingering) else "whole graphs"
            say("retained-graph", at, f"{len(lingering)} of {len(calls)} {kind} outlive two iterations")
