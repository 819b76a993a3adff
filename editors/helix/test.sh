#!/usr/bin/env bash
# Drives Helix with the server, in tmux: editors/helix/test.sh path/to/trainlint [hx]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
TRAINLINT=$(realpath "${1:-$(command -v trainlint)}")
hx=${2:-hx}
home=$(mktemp -d)
screen() { tmux -L "trainlint-$$" "$@"; }
trap 'screen kill-server 2>/dev/null || true; rm -rf "$home"' EXIT
cp -r "$here/../workspace" "$home/workspace"
script=$home/workspace/train.py
mkdir -p "$home/.config/helix" "$home/bin"
cp "$here/languages.toml" "$home/.config/helix/"
ln -s "$TRAINLINT" "$home/bin/trainlint"
passed=0

fail() {
  echo "FAILED  $1; the screen:"
  screen capture-pane -p || true
  exit 1
}
ok() { echo "ok      $1"; passed=$((passed + 1)); }

# until WHAT COMMAND...: waits up to ten seconds for the command to succeed.
until_holds() {
  local what=$1
  shift
  for _ in $(seq 100); do
    if "$@"; then return; fi
    sleep 0.1
  done
  fail "$what"
}
shown() { screen capture-pane -p | grep -qF -- "$1"; }
not_shown() { ! shown "$1"; }
# One key at a time: Escape and a key right after it would be that key with Alt.
keys() {
  local key
  for key in "$@"; do
    screen send-keys "$key"
    sleep 0.1
  done
}
saved() { keys Escape :w Enter; until_holds "saved: $1" grep -qF -- "$1" "$script"; }
message='gradients accumulate across steps: this step re-applies those of earlier batches'

export HOME=$home PATH="$home/bin:$PATH" TERM=tmux-256color LC_ALL=C.UTF-8 XDG_CONFIG_HOME="$home/.config" XDG_CACHE_HOME="$home"
unset XDG_RUNTIME_DIR
"$hx" --health python | grep -q 'trainlint.*: .*bin/trainlint' || { "$hx" --health python; exit 1; }
ok "its languages.toml names the server"

screen -f /dev/null new-session -d -x 150 -y 45 "cd '$home/workspace' && exec '$hx' -vv --log '$home/log' train.py"
until_holds "the script" shown "import torch"
until_holds "an error in the status line" shown "● 1"
keys ']d'
until_holds "the message below the line" shown "$message"
ok "shows the finding"

# The selection is what the finding stands on: behind multibyte text only right units find it.
keys d
saved 'print("naïve 😀", )'
until_holds "the finding gone" not_shown "$message"
keys u
saved 'print("naïve 😀", opt.step())'
until_holds "an error again" shown "● 1"
ok "follows edits, behind multibyte text"

keys ']d' Space k
until_holds "the hover" shown "missing-zero-grad"
keys Escape
ok "tells on hover how it came to be"

keys ']d' Space a
until_holds "the menu" shown 'Insert `opt.zero_grad()` before the backward pass'
keys Enter
saved '        opt.zero_grad()'
until_holds "no error" not_shown "● 1"
diff "$here/../workspace/train.py" "$script" >"$home/changed" || true
[[ "$(grep -c '^[<>]' "$home/changed")" == 1 ]] || fail "one new line: $(cat "$home/changed")"
keys u
until_holds "an error again" shown "● 1"
ok "repairs it with one code action"

keys ']d' Space a
until_holds "the menu" shown 'Ignore `missing-zero-grad` here'
keys Down Enter
saved 'opt.step())  # trainlint: ignore[missing-zero-grad]'
until_holds "no error" not_shown "● 1"
keys gl h h h Space k
until_holds "the page" shown "What it does"
ok "suppresses it on the line, and shows the page on the comment"

# Helix itself complains of the closed connection when it ends, so the log is read before.
if grep -F '[ERROR]' "$home/log"; then fail "no error in its log"; fi
keys Escape :q! Enter
until_holds "the end" bash -c "! tmux -L trainlint-$$ has-session 2>/dev/null"
ok "ends without an error in its log"
echo "helix: $passed passed, 0 failed"
