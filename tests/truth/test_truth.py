"""What the truth machine itself has to get right: `python tests/truth/test_truth.py`, with PyTorch installed."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from agreement import JUDGED, NUMERIC, SAME
from generate import generate
from golden import RAISES, ROOT, marks
from revealed import differences, said
from runs import watched
from shrink import is_bound, shrunk
from watch.facts import ERRORS

HEAD = """import torch
import torch.nn.functional as F
from torch import nn

batches = [(torch.randn(4, 8), torch.randint(0, 3, (4,))) for _ in range(6)]
model = nn.Sequential(nn.Linear(8, 3), nn.Dropout(0.5))
optimizer = torch.optim.Adam(model.parameters())
"""

SCRIPTS = {
    "missing-zero-grad": "for x, y in batches:\n    F.cross_entropy(model(x), y).backward()\n    optimizer.step()",
    "misplaced-zero-grad": "for x, y in batches:\n    F.cross_entropy(model(x), y).backward()\n    optimizer.zero_grad()\n    optimizer.step()",
    "backward-without-step": "for x, y in batches:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x), y).backward()",
    "nothing-trains": "for x, y in batches:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x), y)\n    optimizer.step()",
    "detached-loss": "for x, y in batches:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x), y).detach().requires_grad_().backward()\n    optimizer.step()",
    "softmax-before-cross-entropy": "for x, y in batches:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x).softmax(1), y).backward()\n    optimizer.step()",
    "misplaced-clipping": "for x, y in batches:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x), y).backward()\n    optimizer.step()\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "retained-graph": "kept = []\nfor x, y in batches:\n    loss = F.cross_entropy(model(x), y)\n    kept.append(loss)\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()",
    "needless-retain-graph": "for x, y in batches:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x), y).backward(retain_graph=True)\n    optimizer.step()",
    "clip-before-unscale": "scaler = torch.amp.GradScaler('cpu')\nfor x, y in batches:\n    optimizer.zero_grad()\n    scaler.scale(F.cross_entropy(model(x), y)).backward()\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n    scaler.update()",
    "schedule-outpaces-optimizer": "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)\nfor i, (x, y) in enumerate(batches * 2):\n    (F.cross_entropy(model(x), y) / 3).backward()\n    if i % 3 == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n    schedule.step()",
    "device-mismatch": "model.cuda()\nmodel(batches[0][0])",
    "": "for x, y in batches:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x), y).backward()\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()",
}


def seen_of(body: str, **options: bool) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(HEAD + body + "\n")
        return watched(script, **options)


def test_the_oracle_sees_what_happens() -> None:
    for cuda in (False, True):
        for rule, body in SCRIPTS.items():
            if rule == "device-mismatch" and not cuda:
                continue
            told = {fact["fact"] for fact in seen_of(body, cuda=cuda)["facts"]} - {"empty-step", "unwalked-training-forward"}
            assert told == ({rule} if rule else set()), (rule, cuda, told)


def test_names_of_rules_are_rules() -> None:
    rules = {page.stem for page in (ROOT / "rules").glob("*.md")}
    named = JUDGED | NUMERIC | RAISES | set().union(*SAME.values())
    assert named <= rules, named - rules
    # What is said to be the same as a fact is said of a fact that somebody tells, or that an error stands for.
    told = {fact for path in Path(__file__).parent.glob("watch/*.py") for fact in re.findall(r'"([a-z]+(?:-[a-z]+)+)"', path.read_text())}
    foretold = {rule for _, rules in ERRORS for rule in rules}
    assert set(SAME) <= told | foretold, set(SAME) - told - foretold


def test_facts_say_their_lines() -> None:
    [fact] = seen_of(SCRIPTS["missing-zero-grad"])["facts"]
    assert fact["lines"] == ["train.py:10"], fact


def test_values_are_noted_where_they_are() -> None:
    values = seen_of("x = torch.ones(2, 3) * 2\nx = x.to('cuda').half()", values=True, cuda=True)["values"]
    known = {(one["text"], one["bound"]): one["kinds"] for one in values if one["line"] >= 8}
    [whole] = known["torch.ones(2, 3) * 2", False]
    assert (whole["shape"], whole["dtype"], whole["device"], whole["low"], whole["high"]) == ([2, 3], "float32", "cpu", 2.0, 2.0)
    assert [kind["device"] for kind in known["x.to('cuda').half()", False]] == ["cuda"]
    assert [kind["device"] for kind in known["x", True]] == ["cpu"] or len(known["x", True]) == 1


def test_words_are_read() -> None:
    claim = said("Tensor[4, ?] float32 cpu, graph of `model[0]`, `model[2]`, in [0, 1)")
    assert claim is not None and (claim.dims, claim.dtypes, claim.device, claim.grad) == ([4, None], {"float32"}, "cpu", True)
    inside = {"kind": "tensor", "shape": [4, 9], "dtype": "float32", "device": "cpu", "grad": True, "parameter": False, "low": 0.0, "high": 0.5}
    assert differences(claim, inside, False) == []
    assert differences(claim, {**inside, "shape": [5, 9], "dtype": "float64", "high": 2.0}, False) == ["shape", "dtype", "range"]
    assert said("one of `a`, `b`") is None and said("Unknown") is None
    assert differences(said("int 4, given as `n`"), {"kind": "int", "value": 5}, False) == ["value"]


def test_scripts_shrink_to_what_shows() -> None:
    files = {"train.py": "import os\nx = 1\ny = 2\nif x:\n    z = y\nprint(x)\n"}
    assert shrunk(files, lambda now: "z = y" in now["train.py"]) == {"train.py": "y = 2\nz = y\n"}
    assert not is_bound({"train.py": "print(missing)\n"})


def test_a_seed_is_a_script() -> None:
    for seed in range(150):
        program = generate(seed)
        assert program.files == generate(seed).files
        for name, text in program.files.items():
            compile(text, name, "exec")


def test_marks_are_those_of_the_fixtures() -> None:
    assert list(marks("a  # expect: x-y\nb\n# ^^ z: text\n")) == [("x-y", 1), ("z", 2)]


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok")
