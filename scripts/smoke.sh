#!/usr/bin/env bash
# Whether the program in an archive of `scripts/archive.py` starts and finds something: `scripts/smoke.sh archives`.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for archive in "$1"/*; do
  case $archive in
    *.zip) "$(command -v python3 || command -v python)" -m zipfile -e "$archive" "$work" ;;
    *) tar -xzf "$archive" -C "$work" ;;
  esac
done
for program in "$work"/*/trainlint*; do
  status=0
  "$program" check --isolated --no-cache --output-format concise fixtures/missing-zero-grad >"$work/found" || status=$?
  if [[ $status != 1 ]] || ! grep -q 'error\[missing-zero-grad\]' "$work/found"; then
    echo "$program ended with $status, and found:" >&2
    cat "$work/found" >&2
    exit 1
  fi
done
