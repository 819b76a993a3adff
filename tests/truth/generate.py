"""Writes random, runnable training scripts: `python generate.py SEED [FOLDER]`, or `generate(seed)`.

Every script is plain PyTorch on small data and ends within a second. Nothing says which scripts are right: faults are
planted, but whether one is a fault where it lands is for the run to show.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

from shapes import pairs
from shapes.draft import FAULTS, Block, Draft, rendered
from shapes.layouts import LAYOUTS
from shapes.models import model
from shapes.plan import plan
from shapes.tasks import task

IMPORTS = ["import torch", "import torch.nn.functional as F", "from torch import nn", "from torch.utils.data import DataLoader, TensorDataset"]


@dataclass
class Program:
    """The files of a script; `train.py` is the one that is run."""

    files: dict[str, str]
    planted: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text)
        return folder / "train.py"


def generate(seed: int) -> Program:
    draft = Draft(random.Random(seed))
    count = draft.weighted({0: 35, 1: 45, 2: 20})
    draft.faults = set(draft.random.sample(FAULTS, count))
    if draft.maybe(0.2) or draft.faults & pairs.FAULTS:
        definitions, body = pairs.write(draft)
    else:
        goal = task(draft)
        made = model(draft, "8", goal.outputs, goal.ending)
        definitions, body = made.definition, draft.weighted(LAYOUTS)(draft, plan(draft, goal), made.expression)
    return Program(files(draft, definitions, body), sorted(draft.planted))


def files(draft: Draft, definitions: Block, body: Block) -> dict[str, str]:
    imports = IMPORTS + sorted(draft.imports)
    seeded = ["", "torch.manual_seed(0)", "", ""]
    kind = draft.weighted({"one": 6, "models": 2, "both": 1})
    names = [line.split()[1].split("(")[0].rstrip(":") for line in definitions if isinstance(line, str) and line.startswith(("class ", "def "))]
    # A helper of one file may need a constant of another, so helpers go to a file as a whole.
    if kind == "one" or not names:
        return {"train.py": text([*imports, *seeded, *draft.helpers, *definitions, *body])}
    own = draft.pick(f"from models import {', '.join(names)}", f"from models import {', '.join(names)}", "from models import *")
    helped = [line.split()[1].split("(")[0].rstrip(":") for line in draft.helpers if isinstance(line, str) and line.startswith(("class ", "def "))]
    helped += [line.split()[0] for line in draft.helpers if isinstance(line, str) and line.startswith("FLAG")]
    if kind == "both" and helped:
        return {
            "models.py": text([*imports, "", "", *definitions]),
            "common.py": text([*imports, "", "", *draft.helpers]),
            "train.py": text([*imports, own, f"from common import {', '.join(helped)}", *seeded, *body]),
        }
    return {"models.py": text([*imports, "", "", *definitions]), "train.py": text([*imports, own, *seeded, *draft.helpers, *body])}


def text(block: Block) -> str:
    return "\n".join(rendered(block)).rstrip() + "\n"


def main() -> None:
    made = generate(int(sys.argv[1]))
    if len(sys.argv) > 2:
        print(made.write(Path(sys.argv[2])))
        return
    print(f"# planted: {', '.join(made.planted) or 'nothing'}")
    for name, script in made.files.items():
        print(f"# {name}\n{script}")


if __name__ == "__main__":
    main()
