#!/usr/bin/env bash
# Installs trainlint for the step that checks. Called by action.yml with
#   VERSION      the release that was asked for, or nothing
#   ACTION_REF   the revision by which the workflow names this action
#   GITHUB_ACTION_PATH, RUNNER_TEMP   as the runner gives them
set -euo pipefail

if [[ -z "$VERSION" && "$ACTION_REF" =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
  VERSION=${ACTION_REF#v}
fi
# Whatever else is a requirement to pip, such as an address, is none here.
if [[ -n "$VERSION" && ! "$VERSION" =~ ^[0-9]+(\.[0-9]+)*([a-z]+[0-9]+)?$ ]]; then
  echo "::error title=trainlint::\`version\` is the number of a release, such as \`0.1.0\`"
  exit 2
fi

python=$(command -v python3 || command -v python)
install=("$python" -m pip install --quiet --disable-pip-version-check --target "$RUNNER_TEMP/trainlint")
if [[ -n "$VERSION" ]]; then
  "${install[@]}" --only-binary :all: "trainlint==$VERSION"
else
  # Runners bring Rust, Python and a C compiler.
  "${install[@]}" "$GITHUB_ACTION_PATH"
fi
