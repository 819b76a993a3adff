"""Clipping, scalers of gradients and schedules, and the order in which they come."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Iterable

import torch

from .facts import Facts
from .gradients import Gradients, owned
from .places import Places, Stack

INFINITE = float("inf")


class Protocols:
    def __init__(self, facts: Facts, places: Places, gradients: Gradients) -> None:
        self.facts, self.places, self.gradients = facts, places, gradients
        self.steps_since_update: dict[int, int] = defaultdict(int)
        self.step_places: dict[int, Stack] = {}
        self.updates: dict[int, int] = defaultdict(int)
        self.kept: list[Any] = []
        self.schedule_steps: dict[int, list[int]] = defaultdict(list)
        self.schedules: dict[int, tuple[Any, Stack]] = {}

    def on_clip(self, parameters: list[torch.Tensor], bound: float | None) -> None:
        at, gradients = self.places.stack(), self.gradients
        stepped = {id(p) for one in gradients.optimizers for p in owned(one)}
        known = [one for one in parameters if id(one) in gradients.states and id(one) in stepped]
        waiting = {
            one for parameter in known for state in [gradients.settled(parameter)]
            for one in state.passes if one not in state.applied
        }
        if not parameters:
            self.facts.say("exhausted-parameters", at, "no parameters left to clip")
        elif not waiting and gradients.backwards and bound != INFINITE:
            self.facts.say("misplaced-clipping", at, "no gradients are in place that a step will apply")
        clipped = {id(one) for one in known}
        owners = {id(one) for one in gradients.optimizers if clipped & {id(p) for p in owned(one)}}
        is_scaled = any(gradients.backwards[one].scaled for one in waiting)
        if is_scaled and not owners & gradients.unscaled and bound != INFINITE:
            self.facts.say("clip-before-unscale", at, "gradients are still multiplied by the scale")

    def on_scaled(self, losses: Iterable[torch.Tensor], outputs: Iterable[torch.Tensor]) -> None:
        for loss, tensor in zip(losses, outputs):
            self.kept.append(tensor.detach())
            tensor._oracle_root = type(loss.grad_fn).__name__  # type: ignore[attr-defined]

    @staticmethod
    def scaled_root(tensor: torch.Tensor) -> str | None:
        """What made a loss before a scaler multiplied it; None where none did."""
        return getattr(tensor, "_oracle_root", None)

    def on_scaler_step(self, scaler: Any) -> None:
        self.steps_since_update[id(scaler)] += 1
        self.step_places.setdefault(id(scaler), self.places.stack())
        self.kept.append(scaler)

    def on_scaler_update(self, scaler: Any) -> None:
        self.updates[id(scaler)] += 1
        if self.steps_since_update[id(scaler)] == 0:
            self.facts.say("scaler-not-updated", self.places.stack(), "updated without a step since the last update")
        self.steps_since_update[id(scaler)] = 0

    def on_schedule(self, scheduler: Any, arguments: tuple) -> None:
        optimizer = scheduler.optimizer
        done = self.gradients.steps[id(optimizer)]
        at = self.places.stack()
        self.schedules.setdefault(id(scheduler), (scheduler, at))
        self.schedule_steps[id(scheduler)].append(done)
        if not done and not arguments:
            self.facts.say("scheduler-before-optimizer", at, "the schedule goes on before its optimizer has stepped")

    def finish(self) -> None:
        for number, at in self.step_places.items():
            if not self.updates[number] and self.steps_since_update[number] > 1:
                self.facts.say("scaler-not-updated", at, "several steps, and never an update")
        for scheduler, at in self.schedules.values():
            idle = not self.gradients.steps[id(scheduler.optimizer)]
            done = self.schedule_steps[id(scheduler)]
            if idle and self.gradients.steps_done and len(done) > 1:
                self.facts.say("schedule-of-idle-optimizer", at, "drives an optimizer that never steps")
            ahead = sum(one == two for one, two in zip(done, done[1:]))
            if not idle and 2 * ahead > len(done):
                self.facts.say("schedule-outpaces-optimizer", at, f"{ahead} of {len(done)} steps without one of its optimizer")
