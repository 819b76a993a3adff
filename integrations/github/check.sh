#!/usr/bin/env bash
# Checks, and leaves annotations or a file for code scanning. Called by action.yml with the inputs of the action
# in PATHS, ARGS, MIN_CONFIDENCE, BASELINE, DIFF_BASE and CODE_SCANNING, and with what the runner sets.
set -euo pipefail

# In a pull request, the commit to compare with. GitHub checks out a merge of the pull request into its target,
# so the target is the first parent: one commit more than what is checked out, and no history.
base_of_pull_request() {
  local head
  head=$(git rev-parse HEAD)
  if [[ "$GITHUB_EVENT_NAME" == pull_request && "$head" == "$GITHUB_SHA" ]]; then
    if ! git rev-parse --quiet --verify 'HEAD^1' >/dev/null; then
      git fetch --quiet --no-tags --depth=2 origin "$GITHUB_SHA" >&2 || true
    fi
    git rev-parse --quiet --verify 'HEAD^1' && return
  fi
  git rev-parse --quiet --verify "origin/$GITHUB_BASE_REF" && return
  echo "::error title=trainlint::the target of the pull request is not checked out: \
add \`fetch-depth: 2\` to actions/checkout, or \`diff-base: none\` here" >&2
  return 1
}

sarif="$RUNNER_TEMP/trainlint.sarif"
echo "sarif=$sarif" >>"$GITHUB_OUTPUT"

flags=(--no-progress --report "sarif=$sarif")
roots=()
while IFS= read -r path; do
  path=${path%$'\r'}
  [[ -z "$path" ]] || roots+=("$path")
done <<<"$PATHS"
[[ ${#roots[@]} -gt 0 ]] || roots=(.)

if [[ -n "$MIN_CONFIDENCE" ]]; then
  flags+=(--min-confidence "$MIN_CONFIDENCE")
fi
if [[ -n "$BASELINE" ]]; then
  flags+=(--baseline "$BASELINE")
fi
if [[ "$CODE_SCANNING" == true ]]; then
  # Code scanning takes a finding for a success of the tool, and fails the check itself.
  flags+=(--output-format full --exit-zero)
else
  flags+=(--output-format github)
fi
case "$DIFF_BASE" in
  none | "") ;;
  auto)
    if [[ -n "${GITHUB_BASE_REF:-}" && "$CODE_SCANNING" != true ]]; then
      base=$(base_of_pull_request) || exit 2
      flags+=(--diff-base "$base")
    fi
    ;;
  *) flags+=(--diff-base "$DIFF_BASE") ;;
esac
read -r -d '' -a words <<<"$ARGS" || true
if [[ ${#words[@]} -gt 0 ]]; then
  flags+=("${words[@]}")
fi

"$RUNNER_TEMP/trainlint/bin/trainlint" check "${flags[@]}" -- "${roots[@]}"
