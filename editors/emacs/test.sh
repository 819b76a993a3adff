#!/usr/bin/env bash
# Drives Emacs and Eglot with the server: editors/emacs/test.sh path/to/trainlint [emacs]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
TRAINLINT=$(realpath "${1:-$(command -v trainlint)}")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cp -r "$here/../workspace" "$home/workspace"
export TRAINLINT WORKSPACE="$home/workspace" HOME="$home"
timeout 300 "${2:-emacs}" --batch -L "$here" -l "$here/test/drive.el" \
  --eval '(setq trainlint-command (list (getenv "TRAINLINT") "server"))' -f trainlint-eglot \
  -f ert-run-tests-batch-and-exit </dev/null
