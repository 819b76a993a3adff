"""What other tools say of the mistakes that trainlint looks for, and how long they take.

    python scripts/peers.py BINARY FOLDER [REPOSITORY...]

Pinned versions are installed from PyPI into virtual environments under FOLDER. Each page of a rule has a faulty script and
the same script repaired; a tool is asked whether it says anything of the faulty one, under any of its rules, that it
does not say of the repaired one. Repositories, if given, are folders with checkouts: there, findings of
torch-preflight and TorchFix are set beside those of trainlint. Writes Markdown tables to stdout and all findings to
FOLDER/findings.json. `docs/comparison.md` says what the figures mean.
"""

import json
import os
import re
import resource
import subprocess
import sys
import venv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "rules"

#: Type checkers look into the packages that a script imports. TensorFlow is left out: it is large, and untyped.
FRAMEWORKS = ["torch==2.15.0"]


@dataclass
class Tool:
    """How a tool is installed and called, and the parts `path`, `line` and `said` of a line that it writes."""

    name: str
    package: str
    command: list
    reads: str = r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:?)? (?P<said>.*)$"
    #: The flag that tells where the packages are that scripts import, for tools that look into them.
    python: str = ""


TOOLS = [
    Tool(
        "torch-preflight 0.5.0",
        "torch-preflight==0.5.0",
        ["torch-preflight", "check", "--format", "github"],
        r"file=(?P<path>[^,\n]+),line=(?P<line>\d+).*?title=(?P<said>.*)$",
    ),
    Tool("TorchFix 0.7.0, all rules", "torchfix==0.7.0", ["torchfix", "--select", "ALL"]),
    Tool("Ruff 0.17.5, all rules", "ruff==0.17.5", ["ruff", "check", "--isolated", "--no-cache", "--select", "ALL", "--output-format", "concise"]),
    Tool("Pylint 4.1.4", "pylint==4.1.4", ["pylint", "--score=n", "--persistent=n"]),
    Tool("mypy 2.4.1, strict", "mypy==2.4.1", ["mypy", "--strict", "--cache-dir=/dev/null", "--no-error-summary"], r"^(?P<path>[^:\n]+):(?P<line>\d+): (?P<said>.*)$", "--python-executable"),
    Tool("Pyright 1.1.414", "pyright[nodejs]==1.1.414", ["pyright"], r"^ +(?P<path>[^:\n]+):(?P<line>\d+):\d+ - (?P<said>.*)$", "--pythonpath"),
    Tool("Pyrefly 1.4.1", "pyrefly==1.4.1", ["pyrefly", "check", "--output-format", "min-text"], r"^ *(?P<said>(?:ERROR|WARN) (?P<path>[^:\n]+):(?P<line>\d+):.*)$", "--python-interpreter-path"),
]


def main(binary, folder, repositories):
    folder.mkdir(parents=True, exist_ok=True)
    frameworks = installed(folder / "frameworks", [*FRAMEWORKS], "--no-deps")
    environments = {tool.name: installed(folder / re.split(r"[=\[]", tool.package)[0], [tool.package]) for tool in TOOLS}
    pairs = write_pairs(folder / "pages")
    found = {}
    print("| tool | says something of | CPU seconds |\n| --- | ---: | ---: |")
    findings, seconds = run_trainlint(binary, sorted((folder / "pages").glob("*.py")), folder)
    found["trainlint"] = seen(pairs, findings)
    print(f"| trainlint | {len(found['trainlint'])} of {len(pairs)} | {seconds:.2f} |", flush=True)
    for tool in TOOLS:
        findings, seconds = run(tool, environments[tool.name], frameworks, sorted((folder / "pages").glob("*.py")), folder)
        found[tool.name] = seen(pairs, findings)
        print(f"| {tool.name} | {len(found[tool.name])} of {len(pairs)} | {seconds:.2f} |", flush=True)
    print("\n| rule | seen by | what it says |\n| --- | --- | --- |")
    for rule in pairs:
        for tool in TOOLS:
            if rule in found[tool.name]:
                print(f"| {rule} | {tool.name} | {found[tool.name][rule]} |")
    (folder / "findings.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    on_fixtures(environments[TOOLS[0].name])
    for repository in repositories:
        compare(binary, environments, repository, folder)


def installed(folder, packages, *flags):
    """A virtual environment with these packages, made where there is none."""
    done = folder / ".installed"
    if not done.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *flags, *packages], check=True)
        done.touch()
    return folder


# Pages: a faulty script and the same repaired


def write_pairs(folder):
    """Of each rule the two scripts of its page, without the comments that say what is expected."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = {}
    for page in sorted(RULES.glob("*.md")):
        blocks = re.findall(r"^## (Example|Use instead)\n```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M)
        if len(blocks) == 2:
            pairs[page.stem] = [folder / f"{page.stem}_{kind}.py".replace("-", "_") for kind in ("faulty", "repaired")]
            for path, (_, code) in zip(pairs[page.stem], blocks):
                path.write_text(re.sub(r"  # expect.*$", "", code, flags=re.M), encoding="utf-8")
    return pairs


def seen(pairs, findings):
    """The rules whose fault a tool speaks of: what it says more often of the faulty script than of the repaired one."""
    out = {}
    for rule, (faulty, repaired) in pairs.items():
        said = [Counter(general(said) for path, _, said in findings if path == script.name) for script in (faulty, repaired)]
        more = said[0] - said[1]
        if more:
            out[rule] = "; ".join(sorted(more))[:200].replace("|", "\\|")
    return out


def spent():
    """CPU seconds of everything that was run so far: what else the machine does is not in them."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def general(said):
    """What is said, without places and names of files, so that a line that moved is no difference."""
    said = re.sub(r"\w+_(faulty|repaired)\b", "", said)
    return re.sub(r"[\w/.-]+\.py:\d+(:\d+(-\d+)?)?", "", said).split("::")[0].strip()


# Runs


def run_trainlint(binary, paths, folder):
    started = spent()
    command = [binary, "check", "--isolated", "--no-cache", "--pedantic", "--output-format", "json", *paths]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=1800)
    seconds = spent() - started
    findings = json.loads(ran.stdout)["findings"]
    return [(Path(one["path"]).name, one["line"], f"{one['rule']}: {one['message']}") for one in findings], seconds


def run(tool, environment, frameworks, paths, folder, limit=1800):
    python = [tool.python, frameworks / "bin/python"] if tool.python else []
    command = [environment / "bin" / tool.command[0], *tool.command[1:], *python, *paths]
    path = {"PYTHONPATH": str(next(frameworks.glob("lib/python*/site-packages")))} if tool.command[0] == "pylint" else {}
    started = spent()
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=limit, env={**os.environ, **path})
    seconds = spent() - started
    (folder / f"{environment.name}.log").write_text(ran.stdout + ran.stderr, encoding="utf-8")
    matches = re.finditer(tool.reads, ran.stdout, re.M)
    return [(Path(match["path"]).name, int(match["line"]), match["said"]) for match in matches], seconds


# Repositories

#: What a code of a peer is about, as ids of trainlint's rules.
SAME = {
    "TG001": {"retained-graph"},
    "TG002": {"missing-no-grad"},
    "TG003": {"missing-zero-grad", "misplaced-zero-grad"},
    "TG005": {"softmax-before-cross-entropy"},
    "TG006": {"sigmoid-mismatch"},
    "TG011": {"stuck-in-eval"},
    "TG012": {"missing-distributed-sampler"},
    "TG014": {"unscaled-accumulation"},
    "TOR001": {"removed-api", "unknown-api"},
    "TOR003": {"checkpoint-without-reentrant-choice"},
    "TOR004": {"removed-api", "unknown-api"},
}


def on_fixtures(environment):
    """What torch-preflight says of trainlint's fixtures: faulty ones of the faults that it knows, and correct ones."""
    tool = TOOLS[0]
    scripts = sorted((ROOT / "fixtures").glob("*/*.py"))
    said, _ = in_repository([environment / "bin" / tool.command[0], *tool.command[1:], *scripts], ROOT / "fixtures", tool.reads)
    known = {rule for code, rules in SAME.items() if code.startswith("TG") for rule in rules}
    about = {path: {rule for other, _, text in said if other == path for rule in SAME.get(text.split()[0], ())} for path in {path for path, _, _ in said}}
    faulty = [one for one in scripts if one.name.startswith("bad_") and one.parent.name in known]
    # Those of unused-suppression have the fault, and a comment that hides it.
    right = [one for one in scripts if (one.name.startswith("ok_") or one.parent.name == "clean") and one.parent.name != "unused-suppression"]
    name = lambda one: str(one.relative_to(ROOT / "fixtures"))
    seen = [one for one in faulty if one.parent.name in about.get(name(one), ())]
    alarms = [one for one in right if about.get(name(one))]
    print(f"\n{tool.name}: {len(seen)} of {len(faulty)} faulty fixtures of rules that it has, too; {len(alarms)} of {len(right)} correct ones are said to have such a fault")
    for one in alarms:
        print(f"- {name(one)}: {', '.join(sorted(about[name(one)]))}")


def compare(binary, environments, repository, folder):
    """Findings of a repository, side by side: a peer has seen one if it says the same of the same file, on any line."""
    ours, seconds = in_repository([binary, "check", "--isolated", "--no-cache", "--output-format", "concise", "."], repository, TOOLS[1].reads)
    print(f"\n### {repository.name}\n\ntrainlint: {len(ours)} findings, {seconds:.2f} CPU seconds")
    for tool in TOOLS[:2]:
        command = [environments[tool.name] / "bin" / tool.command[0], *tool.command[1:], "."]
        theirs, seconds = in_repository(command, repository, tool.reads)
        print(f"\n{tool.name}: {len(theirs)} findings, {seconds:.2f} CPU seconds")
        said = {(path, rule) for path, _, text in theirs for code, rules in SAME.items() if code in text.split()[0] for rule in rules}
        both = [one for one in ours if (one[0], rule_of(one[2])) in said]
        print(f"- trainlint's that it has, too: {len(both)} of {len(ours)}")
        known = {(path, rule_of(text)) for path, _, text in ours}
        for path, line, text in theirs:
            rules = next((rules for code, rules in SAME.items() if code in text.split()[0]), set())
            if not any((path, rule) in known for rule in rules):
                print(f"- only there: {path}:{line} {text.split('::')[0][:110]}")


def rule_of(text):
    """The id in a line of trainlint's, such as `error[missing-zero-grad] …`."""
    return re.sub(r"^\w+\[([a-z-]+)\].*$", r"\1", text)


def in_repository(command, repository, reads):
    started = spent()
    try:
        ran = subprocess.run(command, capture_output=True, text=True, cwd=repository, timeout=900)
    except subprocess.TimeoutExpired:
        return [], spent() - started
    seconds = spent() - started
    return [(os.path.relpath(repository / match["path"], repository), int(match["line"]), match["said"]) for match in re.finditer(reads, ran.stdout, re.M)], seconds


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), [Path(one).resolve() for one in sys.argv[3:]])
