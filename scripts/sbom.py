#!/usr/bin/env python3
"""Prints what trainlint is made of, as a bill of materials that CycloneDX 1.5 describes: every crate of Cargo.lock that
a build for some platform links, with its licence and the digest of its archive. Needs cargo; fetches nothing that is
not there. The same lock file gives the same bytes.

    scripts/sbom.py >trainlint.cdx.json
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def metadata():
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def linked(found):
    """The ids of the packages that end up in the binary, and those that each of them uses."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    uses, open_ids = {}, [found["resolve"]["root"]]
    while open_ids:
        here = open_ids.pop()
        if here in uses:
            continue
        is_built_in = lambda dep: any(kind["kind"] is None for kind in dep["dep_kinds"])
        uses[here] = sorted(dep["pkg"] for dep in nodes[here]["deps"] if is_built_in(dep))
        open_ids.extend(uses[here])
    return uses


def component(package, checksums):
    name, version = package["name"], package["version"]
    digest = checksums.get((name, version))
    return {
        "type": "library",
        "bom-ref": reference(package),
        "name": name,
        "version": version,
        "purl": reference(package),
        "licenses": [{"expression": package["license"].replace("/", " OR ")}] if package["license"] else [],
        "hashes": [{"alg": "SHA-256", "content": digest}] if digest else [],
    }


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def main():
    found = metadata()
    packages = {package["id"]: package for package in found["packages"]}
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    uses = linked(found)
    root = packages[found["resolve"]["root"]]
    others = sorted((packages[id] for id in uses if id != root["id"]), key=reference)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component(root, checksums), "type": "application"}},
        "components": [component(package, checksums) for package in others],
        "dependencies": [
            {"ref": reference(packages[id]), "dependsOn": [reference(packages[used]) for used in used_ids]}
            for id, used_ids in sorted(uses.items(), key=lambda item: reference(packages[item[0]]))
        ],
    }
    json.dump(bill, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
