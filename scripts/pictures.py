"""The pictures of the README and of the quick start, made of what the binary prints.

    python scripts/pictures.py BINARY           writes docs/images/*.svg
    python scripts/pictures.py BINARY --check   fails where they show something else than the binary prints
    python scripts/pictures.py --page FOLDER    writes docs/images/rule-page.png from a built site (needs Chromium)
"""

import re
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

import terminal

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
SCRIPT = "examples/digits.py"

SHOWN = {
    "check.svg": ["check", SCRIPT],
    "confirm.svg": ["confirm", SCRIPT],
    "fix.svg": ["check", "--diff", SCRIPT],
}


def draw(trainlint, folder, *replaying):
    for name, command in SHOWN.items():
        flags = ["--no-cache"] if command[0] == "check" else ["--backend", "cpu", *replaying]
        shown = terminal.run(trainlint, *command, "--isolated", *flags, cwd=ROOT)
        if "--diff" in command:
            shown = terminal.diff_in_colours(shown)
        terminal.svg(folder / name, f"trainlint {' '.join(command)}", shown)


def words(path):
    """What a picture says; of a replay the verdicts alone, since a slow machine draws fewer samples."""
    text = re.sub(r"<style>.*?</style>", "", path.read_text(encoding="utf-8"), flags=re.S)
    text = unescape(re.sub(r"<[^>]*>", "", text))
    if path.name == "confirm.svg":
        return re.findall(r"\bCONFIRMED\b|\bREPRODUCED\b|\bINCONCLUSIVE\b", text)
    return text.split()


def outdated(trainlint):
    with tempfile.TemporaryDirectory() as folder:
        draw(trainlint, Path(folder), "--samples", "20000")
        return [name for name in SHOWN if words(Path(folder) / name) != words(IMAGES / name)]


def photograph(site):
    """The page of a rule, as a browser shows it."""
    page = (Path(site) / "rules/missing-zero-grad/index.html").resolve()
    with tempfile.TemporaryDirectory() as profile:
        quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
        window = ["--hide-scrollbars", "--window-size=1280,1330", "--virtual-time-budget=4000"]
        browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--user-data-dir={profile}", *window]
        subprocess.run([*browser, f"--screenshot={IMAGES / 'rule-page.png'}", page.as_uri()], check=True, capture_output=True)


def main(args):
    if args[:1] == ["--page"] and len(args) == 2:
        photograph(args[1])
    elif args[1:] == ["--check"]:
        old = outdated(Path(args[0]).resolve())
        if old:
            raise SystemExit(f"{', '.join(old)} in docs/images: trainlint prints something else now; run `python scripts/pictures.py {args[0]}`")
    elif len(args) == 1:
        draw(Path(args[0]).resolve(), IMAGES)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
