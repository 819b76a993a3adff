"""What a training consists of, before it is written down."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from .draft import Draft
from .tasks import Task


@dataclass(frozen=True)
class Names:
    """What things are called where a block stands: `model`, or `self.model` in a trainer."""

    model: str = "model"
    optimizer: str = "optimizer"
    scheduler: str = "scheduler"
    scaler: str = "scaler"
    criterion: str = "criterion"
    loader: str = "loader"
    test_loader: str = "test_loader"
    history: str = "history"
    ema: str = "ema"
    device: str = "device"

    def of_self(self) -> "Names":
        return replace(self, **{one.name: f"self.{getattr(self, one.name)}" for one in fields(self)})


@dataclass
class Plan:
    task: Task
    epochs: int
    accumulate: int
    scaler: bool
    autocast: bool
    clip: bool
    schedule: str
    ema: bool
    evaluate: bool
    device: bool
    frozen: bool

    def objects(self) -> list[str]:
        """What the training loop is given besides the loaders, by the names in `Names`."""
        found = ["model", "optimizer"]
        found += ["criterion"] if self.task.criterion else []
        found += ["scheduler"] if self.schedule else []
        found += ["scaler"] if self.scaler else []
        found += ["ema"] if self.ema else []
        found += ["device"] if self.device else []
        return found


SCALER_FAULTS = {"clip scaled", "no update", "bypass scaler", "raw backward"}
SCHEDULE_FAULTS = {"schedule early", "schedule per batch", "schedule other"}


def plan(draft: Draft, task: Task) -> Plan:
    scaler = draft.maybe(0.12) or bool(draft.faults & SCALER_FAULTS)
    schedule = draft.weighted({"": 6, "epoch": 5, "batch": 2, "metric": 1})
    if draft.faults & SCHEDULE_FAULTS and not schedule:
        schedule = draft.pick("epoch", "batch")
    return Plan(
        task=task,
        epochs=draft.pick(2, 3, 3, 4),
        accumulate=draft.pick(2, 3) if draft.maybe(0.22) or draft.faults & {"undivided", "schedule per batch"} else 1,
        scaler=scaler,
        autocast=scaler and draft.maybe(0.7) or draft.maybe(0.05),
        clip=draft.maybe(0.25) or bool(draft.faults & {"clip late", "clip early", "clip scaled", "exhausted"}),
        schedule=schedule,
        ema=draft.maybe(0.08),
        evaluate=draft.maybe(0.65) or bool(draft.faults & {"no eval", "no return to training", "graphs in evaluation"}),
        device=draft.maybe(0.3) or "device" in draft.faults,
        frozen=draft.maybe(0.1) or "frozen by slice" in draft.faults,
    )
