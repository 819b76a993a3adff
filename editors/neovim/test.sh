#!/usr/bin/env bash
# Drives Neovim with the server: editors/neovim/test.sh path/to/trainlint [nvim]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
TRAINLINT=$(realpath "${1:-$(command -v trainlint)}")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cp -r "$here/../workspace" "$home/workspace"
export TRAINLINT WORKSPACE="$home/workspace" HOME="$home" XDG_CONFIG_HOME="$home" XDG_STATE_HOME="$home" \
  XDG_DATA_HOME="$home" XDG_CACHE_HOME="$home"
timeout 300 "${2:-nvim}" --headless --clean --cmd "set runtimepath^=$here" -c "luafile $here/test/drive.lua" </dev/null
