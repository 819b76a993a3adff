#!/usr/bin/env bash
# Builds trainlint and the yardstick, then measures both in one run: see README.md here.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --bin trainlint --example bare_parse
exec "${PYTHON:-python3}" benches/run.py "$@"
