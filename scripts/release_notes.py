#!/usr/bin/env python3
"""Writes what the changelog says of a release: `scripts/release_notes.py refs/tags/v1.2.3`.

`--check` only looks whether the tag, Cargo.toml and the changelog agree; for what is no tag of a release there is
nothing to agree on, and nothing to say.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def notes(version: str) -> str:
    built = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if not built or built.group(1) != version:
        sys.exit(f"the tag says {version}, and Cargo.toml {built and built.group(1)}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if not section or not section.group(1).strip():
        sys.exit(f"CHANGELOG.md has no section `## {version}`")
    return section.group(1).strip() + "\n"


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    tag = re.fullmatch(r"refs/tags/v(\d+\.\d+\.\d+)", arguments[0])
    text = notes(tag.group(1)) if tag else ""
    if "--check" not in sys.argv:
        sys.stdout.write(text)


main()
