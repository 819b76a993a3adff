"""Runs of scripts under the oracle, each in a process of its own that is forked from one with PyTorch loaded."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

# More threads than one make small tensors slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@functools.cache
def warm_up(trains: bool) -> None:
    """Loads, before the first fork, what PyTorch loads when it is first used: a second or more. A process that has
    trained cannot use a GPU in those that it forks."""
    import torch
    import torch._dynamo
    import torch.distributions
    import torch.utils.data

    torch.set_num_threads(1)
    if not trains:
        return
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(), torch.nn.BatchNorm1d(2))
    for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop, torch.optim.Adagrad):
        optimizer = kind(model.parameters(), lr=0.1)
        torch.nn.functional.cross_entropy(model(torch.ones(2, 2)), torch.zeros(2, dtype=torch.int64)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    torch.set_grad_enabled(True)


def watched(script: Path, values: bool = False, cuda: bool = False, seconds: float = 20, preamble: str = "", gpu: bool = False) -> dict[str, Any]:
    """What was seen of one script, on a true GPU if asked; `error` says so when the run itself was lost."""
    warm_up(not gpu)
    from watch.run import run

    with tempfile.NamedTemporaryFile("r", suffix=".json") as out:
        child = os.fork()
        if child == 0:
            _silent()
            try:
                seen = run(str(script), [], seconds=seconds, values=values, cuda=cuda, preamble=preamble)
                Path(out.name).write_text(json.dumps(seen))
            except BaseException as error:  # the oracle's own mistake
                Path(out.name).write_text(json.dumps(lost(f"the oracle: {type(error).__name__}: {error}")))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        text = out.read()
    return json.loads(text) if text else lost(f"the process ended with status {status}")


def lost(why: str) -> dict[str, Any]:
    return {"stopped": True, "error": why, "lost": True, "steps": 0, "backwards": 0, "facts": [], "values": []}


def _silent() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.stdout = sys.stderr = open(os.devnull, "w")
