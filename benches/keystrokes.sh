#!/usr/bin/env bash
# Types into the single scripts of the corpus and measures every key: see README.md here. `benches/keystrokes.sh
# 10000` makes so many edits in each.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
cargo build --release --bin trainlint --example keystrokes
for script in "${TRAINLINT_CORPUS:-benches/corpus}"/one/*.py; do
  "$target/release/examples/keystrokes" "$target/release/trainlint" "$script" "${1:-2000}"
done
