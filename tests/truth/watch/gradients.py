"""Which backward passes are in the gradient of each parameter, and what optimizers do with them."""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, Iterator

import torch
from torch import nn

from .facts import Facts
from .places import Stack


@dataclass
class Backward:
    """One backward pass."""

    at: Stack
    root: str
    scaled: bool
    retains: bool
    reached: set[int] = field(default_factory=set)
    calls: list[Any] = field(default_factory=list)
    walked_again: bool = False


@dataclass
class Gradient:
    """What is in `.grad` of one parameter, as numbers of backward passes."""

    passes: list[int] = field(default_factory=list)
    applied: set[int] = field(default_factory=set)
    lost: list[int] = field(default_factory=list)
    was_cleared: bool = True
    contributes: bool = False
    left_as: tuple[int, int] | None = None  # the tensor and its version after the last backward pass
    left_empty: bool = False

    def clear(self) -> None:
        self.lost += [one for one in self.passes if one not in self.applied]
        self.passes = []


def is_cleared(gradient: torch.Tensor | None, state: Gradient) -> bool:
    """Whether somebody has cleared it; what two passes add up to may be zero by itself."""
    if gradient is None:
        return True
    untouched = state.left_empty and (id(gradient), gradient._version) == state.left_as
    return not untouched and not bool((gradient != 0).any())


def owned(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    for group in optimizer.param_groups:
        yield from group["params"]


class Gradients:
    """Follows gradients from the backward passes that make them to the steps that apply them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.backwards: list[Backward] = []
        self.states: dict[int, Gradient] = {}
        self.parameters: dict[int, torch.Tensor] = {}  # keeps them alive, so that ids stay unique
        self.optimizers: list[torch.optim.Optimizer] = []
        self.built_at: dict[int, Stack] = {}
        self.built: dict[Stack, list[torch.optim.Optimizer]] = defaultdict(list)
        self.steps: Counter[int] = Counter()
        self.steps_done = 0
        self.unscaled: set[int] = set()
        self.in_scaler = False
        self.stepped_parameters: set[int] = set()
        self.given_by_hand: set[int] = set()  # whose gradients the script assigns
        self.stepping: torch.optim.Optimizer | None = None

    def watch(self, parameter: torch.Tensor) -> None:
        lazy = torch.nn.parameter.is_lazy(parameter)
        if id(parameter) in self.states or not parameter.requires_grad or not parameter.is_leaf or lazy:
            return
        state = self.states[id(parameter)] = Gradient()
        self.parameters[id(parameter)] = parameter
        shadow = weakref.ref(parameter)

        def before(gradient: torch.Tensor) -> None:
            held = shadow()
            state.was_cleared = held is None or is_cleared(held.grad, state)
            state.contributes = bool((gradient != 0).any())
            # A scaler tries scales that are too large, and finds out by itself.
            if self.backwards and not self.backwards[-1].scaled and not bool(torch.isfinite(gradient).all()):
                self.facts.say("gradient-not-finite", self.backwards[-1].at, "a gradient is NaN or infinite")

        def after(held: torch.Tensor) -> None:
            if state.was_cleared:
                state.clear()
            if held.grad is not None:
                state.left_as = (id(held.grad), held.grad._version)
                state.left_empty = not bool((held.grad != 0).any())
            if self.backwards:
                self.backwards[-1].reached.add(id(held))
                # Dead units get gradients of zeros, which do nothing.
                if state.contributes:
                    state.passes.append(len(self.backwards) - 1)

        parameter.register_hook(before)
        parameter.register_post_accumulate_grad_hook(after)

    def settled(self, parameter: torch.Tensor) -> Gradient:
        """The state of a gradient now, whoever cleared it."""
        state = self.states[id(parameter)]
        if is_cleared(parameter.grad, state):
            state.clear()
        return state

    def on_built(self, optimizer: torch.optim.Optimizer, at: Stack) -> None:
        self.optimizers.append(optimizer)
        self.built_at[id(optimizer)] = at
        self.built[at].append(optimizer)
        for parameter in owned(optimizer):
            self.watch(parameter)

    def before_step(self, optimizer: torch.optim.Optimizer, at: Stack, closure: bool) -> None:
        if self.stepping is optimizer:
            return  # a subclass that calls the step of its base class
        self.stepping = optimizer
        self.steps_done += 1
        self.steps[id(optimizer)] += 1
        states = []
        by_hand = False
        for parameter in owned(optimizer):
            self.watch(parameter)
            self.stepped_parameters.add(id(parameter))
            if id(parameter) in self.states:
                state = self.settled(parameter)
                states.append(state)
                if parameter.grad is not None and id(parameter.grad) != (state.left_as or (0, 0))[0]:
                    by_hand = True
                    self.given_by_hand.add(id(parameter))
        fresh = [[one for one in state.passes if one not in state.applied] for state in states]
        old = sum(any(one in state.applied for one in state.passes) for state in states)
        lost_at = {self.backwards[one].at for state in states for one in state.lost}
        for state in states:
            state.applied.update(state.passes)
            state.lost = []
        many = max(fresh, key=len, default=[])
        if not closure and not by_hand:
            self._judge_step(at, old, many, lost_at)
        self._judge_scaling(optimizer, at, many)
        self.unscaled.discard(id(optimizer))

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        self.stepping = None

    def on_skipped(self, optimizer: torch.optim.Optimizer) -> None:
        """A scaler leaves out a step whose gradients have overflown: what is cleared then is not lost."""
        for parameter in owned(optimizer):
            if id(parameter) in self.states:
                self.states[id(parameter)].applied.update(self.states[id(parameter)].passes)

    def _judge_step(self, at: Stack, old: int, many: list[int], lost_at: set[Stack]) -> None:
        say = self.facts.say
        if old:
            say("missing-zero-grad", at, f"{old} parameters hold gradients that an earlier step applied")
        if not many and lost_at:
            say("misplaced-zero-grad", at, "all gradients since the last step were cleared before this one")
        elif many and lost_at & {self.backwards[one].at for one in many}:
            say("misplaced-zero-grad", at, "some micro-batches were cleared before this step")
        elif not many and not old:
            say("empty-step", at, "no gradients in place")
        if len(many) > 1 and len({self.backwards[one].at for one in many}) == 1:
            roots = {self.backwards[one].root for one in many}
            is_divided = any(root.startswith(("Div", "Mul")) for root in roots)
            if not is_divided and len(roots) == 1:
                say("unscaled-accumulation", self.backwards[many[0]].at, f"{len(many)} passes of {sorted(roots)} a step")

    def _judge_scaling(self, optimizer: torch.optim.Optimizer, at: Stack, many: list[int]) -> None:
        scaled = [one for one in many if self.backwards[one].scaled]
        if scaled and not self.in_scaler and id(optimizer) not in self.unscaled:
            self.facts.say("step-bypasses-scaler", at, "gradients are still multiplied by the scale")
        if many and not scaled and self.in_scaler:
            detail = "the scaler divides gradients that were never multiplied"
            self.facts.say("raw-backward", self.backwards[many[0]].at, detail)

    def finish(self, ran: set[int]) -> None:
        """What can only be said at the end. `ran`: parameters whose modules ran while gradients were recorded."""
        reached = Counter(number for backward in self.backwards for number in backward.reached)
        self._judge_idle(reached)
        self._judge_strangers(reached)
        self._judge_unreached(reached, ran)
        self._judge_rebuilt()

    def _judge_idle(self, reached: Counter[int]) -> None:
        say = self.facts.say
        if self.optimizers and not self.backwards and ran_loop(self.steps):
            say("nothing-trains", self.built_at[id(self.optimizers[0])], "steps, and never a backward pass")
        for one in self.optimizers:
            mine = {id(parameter) for parameter in owned(one)}
            if self.steps[id(one)] or mine & self.stepped_parameters:
                continue
            several = [backward for backward in self.backwards if backward.reached & mine]
            if len(several) > 1:
                detail = "gradients, and no step" if not self.steps else "this optimizer never steps"
                say("backward-without-step", several[0].at + self.built_at[id(one)], detail)

    def _judge_strangers(self, reached: Counter[int]) -> None:
        mine = {id(parameter) for one in self.optimizers for parameter in owned(one)}
        strangers = [
            number for number, times in reached.items()
            if times > 1 and number not in mine and isinstance(self.parameters[number], nn.Parameter)
        ]
        if strangers and self.steps:
            self.facts.say("orphan-parameters", (), f"{len(strangers)} parameters get gradients and are in no optimizer")

    def _judge_unreached(self, reached: Counter[int], ran: set[int]) -> None:
        stepped = [one for one in self.optimizers if self.steps[id(one)] > 1]
        dead = [p for one in stepped for p in owned(one) if not reached[id(p)] and id(p) in ran - self.given_by_hand and p.requires_grad]
        if not dead or not self.backwards:
            return
        some = any(reached[id(p)] for one in stepped for p in owned(one))
        fact = "graph-broken-in-forward" if some else "detached-loss"
        self.facts.say(fact, self.backwards[0].at, f"{len(dead)} parameters ran, are stepped, and never got a gradient")

    def _judge_rebuilt(self) -> None:
        for at, several in self.built.items():
            if len(several) < 3 or sum(self.steps[id(one)] == 1 for one in several) < 2:
                continue
            same = {id(p) for p in owned(several[0])} == {id(p) for p in owned(several[-1])}
            plain = isinstance(several[0], torch.optim.SGD) and not several[0].defaults.get("momentum")
            if same and not plain:
                self.facts.say("optimizer-built-in-loop", at, f"{len(several)} instances of one step each")


def ran_loop(steps: Counter[int]) -> bool:
    return any(times > 1 for times in steps.values())
