"""A script in the making: what was drawn, what it needs, and its files."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Callable, Sequence, TypeVar, Union

T = TypeVar("T")
# Lines; a list in the list is indented.
Block = list[Union[str, "Block"]]

# What may be planted. Whether it is a fault in the script that comes of it, the run shows.
FAULTS = (
    "no clear", "clear after backward", "clear before step", "clear first only", "no step", "no backward", "no mode",
    "no eval", "no return to training", "graphs in evaluation", "softmax", "softmax in model", "sigmoid", "keep loss",
    "retain graph", "detach loss", "detach features", "functional dropout", "plain list", "clip late", "clip early",
    "clip scaled", "no update", "bypass scaler", "raw backward", "schedule early", "schedule per batch",
    "schedule other", "undivided", "target shape", "frozen by slice", "exhausted", "optimizer in loop",
    "replaced head", "strangers", "hidden kept", "no generator clear", "generator not detached", "unshuffled",
    "log of softmax", "no super", "target dtype", "input dtype", "item loss", "backward twice", "device",
    "drop result", "unsafe log", "unsafe root", "eval before fit", "log of probabilities missing",
)


def rendered(block: Block, depth: int = 0) -> list[str]:
    out: list[str] = []
    for one in block:
        if isinstance(one, str):
            out += [("    " * depth + line).rstrip() for line in one.split("\n")]
        else:
            out += rendered(one, depth + 1)
    return out


@dataclass
class Draft:
    """Draws from one seed."""

    random: random.Random
    faults: set[str] = field(default_factory=set)
    helpers: Block = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    planted: set[str] = field(default_factory=set)
    count: int = 0

    def pick(self, *options: T) -> T:
        return self.random.choice(options)

    def weighted(self, options: dict[T, int]) -> T:
        return self.random.choices(list(options), list(options.values()))[0]

    def maybe(self, probability: float) -> bool:
        return self.random.random() < probability

    def has(self, fault: str) -> bool:
        """Whether this fault is to be planted; whoever asks does so."""
        assert fault in FAULTS, fault
        if fault in self.faults:
            self.planted.add(fault)
        return fault in self.faults

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"

    def indirect(self, names: Sequence[str], write: Callable[..., Block]) -> Block:
        """What `write` gives for some names, perhaps behind a helper, a branch or a loop of one round."""
        kind = self.weighted({"plain": 70, "helper": 12, "flag": 5, "try": 4, "loop": 3, "object": 3, "lambda": 3})
        plain = [name.split(".")[-1] for name in names]
        block = write(*names)
        if kind == "plain" or len(set(plain)) < len(plain):
            return block
        if kind == "helper":
            helper = self.fresh(self.pick("apply", "update", "run", "do"))
            self.helpers += [f"def {helper}({', '.join(plain)}):", write(*plain), "", ""]
            return [f"{helper}({', '.join(names)})"]
        if kind == "object":
            helper = self.fresh("Helper")
            fields = [f"self.{name} = {name}" for name in plain]
            call: Block = ["def __init__(self, %s):" % ", ".join(plain), [*fields], "", "def __call__(self):", write(*(f"self.{name}" for name in plain))]
            self.helpers += [f"class {helper}:", call, "", ""]
            return [f"{helper}({', '.join(names)})()"]
        if kind == "lambda" and len(block) == 1 and isinstance(block[0], str) and "=" not in block[0].replace("==", ""):
            name = self.fresh("action")
            return [f"{name} = lambda: {block[0]}", f"{name}()"]
        if kind == "flag":
            flag = self.fresh("FLAG")
            self.helpers[0:0] = [f"{flag} = {self.maybe(0.75)}", ""]
            return [f"if {flag}:", block]
        if kind == "try":
            return ["try:", block, "finally:", ["pass"]]
        if kind == "loop":
            return ["for _ in range(1):", block]
        return block
