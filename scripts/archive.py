#!/usr/bin/env python3
"""Packs the program of a wheel for those who install without Python:
`scripts/archive.py dist/trainlint-….whl x86_64-unknown-linux-gnu archives` writes
archives/trainlint-x86_64-unknown-linux-gnu.tar.gz (a .zip for Windows) with the licences beside it.
"""

import io
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATED = (1980, 1, 1, 0, 0, 0)


def contents(wheel: Path) -> list[tuple[str, bytes, int]]:
    with zipfile.ZipFile(wheel) as packed:
        programs = [name for name in packed.namelist() if ".data/scripts/" in name]
        if len(programs) != 1:
            sys.exit(f"{wheel} holds {len(programs)} programs: {programs}")
        files = [(programs[0].rsplit("/", 1)[1], packed.read(programs[0]), 0o755)]
    for name in ("LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"):
        files.append((name, (ROOT / name).read_bytes(), 0o644))
    return files


def main() -> None:
    wheel, target, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    name = f"trainlint-{target}"
    if "windows" in target:
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            for path, data, mode in contents(wheel):
                about = zipfile.ZipInfo(f"{name}/{path}", DATED)
                about.external_attr = mode << 16
                packed.writestr(about, data, zipfile.ZIP_DEFLATED)
        return
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as packed:
        for path, data, mode in contents(wheel):
            about = tarfile.TarInfo(f"{name}/{path}")
            about.size, about.mode = len(data), mode
            packed.addfile(about, io.BytesIO(data))


main()
