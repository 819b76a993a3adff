#!/usr/bin/env bash
# Drives Emacs with the server, by Eglot and, where it is installed, by lsp-mode:
# editors/emacs/test.sh path/to/trainlint [emacs]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
TRAINLINT=$(realpath "${1:-$(command -v trainlint)}")
emacs=${2:-emacs}
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cp -r "$here/../workspace" "$home/workspace"
export TRAINLINT WORKSPACE="$home/workspace" HOME="$home"
timeout 300 "$emacs" --batch -L "$here" -l "$here/test/drive.el" \
  --eval '(setq trainlint-command (list (getenv "TRAINLINT") "server"))' -f trainlint-eglot \
  -f ert-run-tests-batch-and-exit </dev/null

if "$emacs" --batch -f package-initialize --eval '(kill-emacs (if (locate-library "lsp-mode") 0 1))' 2>/dev/null; then
  if [[ -n "${RUFF:-}" ]]; then PATH=$(dirname "$RUFF"):$PATH; fi
  timeout 100 "$emacs" --batch -L "$here" -l "$here/test/lsp-mode.el" -f ert-run-tests-batch-and-exit </dev/null
fi
