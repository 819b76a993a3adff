"""Runs a PyTorch training script for real and writes down what happened, as JSON.

    python oracle.py [--steps N] [--seconds S] [--values] [--cuda] script.py [arguments of the script]

A fact is {"fact": rule, "lines": ["train.py:12", ...], "detail": text}; `lines` are the lines of the script's own
files on the stack, the innermost first. One run shows what happened on one way: a fact proves that it can happen; a
missing fact proves nothing of ways that were not taken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from watch.run import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60, help="stop after so many steps of optimizers")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--values", action="store_true", help="what each expression was, too")
    parser.add_argument("--cuda", action="store_true", help="pretend that there is a GPU")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):
        seen = run(options.script, options.arguments, options.steps, options.seconds, options.values, options.cuda)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
