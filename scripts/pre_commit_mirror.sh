#!/usr/bin/env bash
# Writes the files of the mirror repository for pre-commit into a folder: the hooks of this repository, and a
# package that holds nothing and asks for the released wheel, so that installing a hook compiles nothing.
# A release commits them to the mirror and tags the commit with the version.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
mkdir -p "$1"
cp .pre-commit-hooks.yaml LICENSE-APACHE LICENSE-MIT "$1"
cat >"$1/pyproject.toml" <<TOML
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "trainlint-pre-commit"
version = "0"
dependencies = ["trainlint==$version"]

[tool.setuptools]
py-modules = []
TOML
cat >"$1/README.md" <<MARKDOWN
# trainlint for pre-commit
The hooks of trainlint, installed from the released wheel. Written by \`scripts/pre_commit_mirror.sh\` of trainlint.

\`\`\`yaml
repos:
  - repo: (the address of this repository)
    rev: v$version
    hooks:
      - id: trainlint
\`\`\`
MARKDOWN
