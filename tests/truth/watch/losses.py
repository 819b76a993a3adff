"""What losses are given."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import torch

from .facts import Facts
from .places import Places, Stack

ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
WITH_LOGITS = ("cross_entropy", "binary_cross_entropy_with_logits")
# Operations that pass numbers on as they are.
CARRIERS = ("View", "UnsafeView", "Reshape", "Squeeze", "Unsqueeze", "Select", "Slice", "T", "Transpose", "Permute", "ToCopy", "Clone", "Alias", "Expand", "Index")
WATCHED = (*ELEMENTWISE, *WITH_LOGITS, "nll_loss")


@dataclass(frozen=True)
class Given:
    """What the numbers of one input look like."""

    in_unit_interval: bool
    rows_sum_to_one: bool
    log_probabilities: bool
    made_by: str


def maker(values: torch.Tensor) -> str:
    """The operation that made these numbers, without those that only hand them on."""
    node = values.grad_fn
    while node is not None:
        name = type(node).__name__.rstrip("0123456789").removesuffix("Backward")
        if name not in CARRIERS or not node.next_functions:
            return name
        node = node.next_functions[0][0]
    return ""


class Losses:
    def __init__(self, facts: Facts, places: Places) -> None:
        self.facts, self.places = facts, places
        self.given: dict[tuple[str, Stack], list[Given]] = defaultdict(list)

    def on_loss(self, kind: str, args: tuple, kwargs: dict) -> None:
        values: Any = args[0] if args else kwargs.get("input")
        targets: Any = args[1] if len(args) > 1 else kwargs.get("target")
        if not isinstance(values, torch.Tensor) or not isinstance(targets, torch.Tensor) or not values.requires_grad:
            return
        at = self.places.stack()
        if kind in ELEMENTWISE:
            both = torch.broadcast_shapes(values.shape, targets.shape)
            if both not in (values.shape, targets.shape):
                self.facts.say("broadcast-loss", at, f"{list(values.shape)} against {list(targets.shape)}")
            return
        numbers = values.detach().float()
        if not numbers.numel() or not numbers.isfinite().all():
            return
        axis = 1 if numbers.dim() > 1 else 0
        # A single class sums to one by accident.
        several = numbers.dim() > 0 and numbers.shape[axis] > 1
        self.given[kind, at].append(Given(made_by=maker(values),
            in_unit_interval=bool(((numbers >= 0) & (numbers <= 1)).all()),
            rows_sum_to_one=several and bool(((numbers.sum(axis) - 1).abs() < 1e-3).all()),
            log_probabilities=several and bool(((numbers.exp().sum(axis) - 1).abs() < 2e-2).all()),
        ))

    def on_difference(self, left: Any, right: Any) -> None:
        """`[N, 1]` minus `[N]`: the differences of all pairs, which hardly anybody means."""
        shapes = [tuple(one.shape) for one in (left, right) if isinstance(one, torch.Tensor)]
        if len(shapes) < 2 or sorted(map(len, shapes)) != [1, 2] or not (left.requires_grad or right.requires_grad):
            return
        flat, column = sorted(shapes, key=len)
        if column == (flat[0], 1) and flat[0] > 1:
            self.facts.say("broadcast-loss", self.places.stack(), f"{list(left.shape)} minus {list(right.shape)}")

    def finish(self) -> None:
        for (kind, at), seen in self.given.items():
            if len(seen) < 2:
                continue  # one input may look like it by accident
            # Numbers of an untrained model lie there by accident, too.
            unit = all(one.in_unit_interval and one.made_by in ("Sigmoid", "Softmax") for one in seen)
            if kind == "cross_entropy" and unit and all(one.rows_sum_to_one for one in seen):
                self.facts.say("softmax-before-cross-entropy", at, "every row of the input sums to 1")
            elif kind == "cross_entropy" and all(one.log_probabilities for one in seen):
                self.facts.say("log-softmax-before-cross-entropy", at, "every row of the input is log-probabilities")
            elif kind in WITH_LOGITS and unit:
                self.facts.say("sigmoid-mismatch", at, "every input lies in [0, 1]")
            elif kind == "nll_loss" and not any(one.log_probabilities or one.made_by == "LogSoftmax" for one in seen):
                self.facts.say("nll-without-log-softmax", at, "the inputs are no log-probabilities")
