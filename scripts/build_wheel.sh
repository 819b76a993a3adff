#!/usr/bin/env bash
# Builds the wheel for a target of Rust, or `source` for the source distribution, into a folder:
#   scripts/build_wheel.sh x86_64-unknown-linux-gnu dist
# Wheels for Linux run with glibc 2.17 (manylinux2014) or musl 1.2: zig compiles the C parts and links.
# Needs Rust with rustup, and Python with pip. Used by .ci/packages and .github/workflows/release.yml.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1
mkdir -p "$2"
dist=$(cd "$2" && pwd)

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"$(command -v python3 || command -v python)" -m venv "$tools"
bin=$tools/bin
[[ -d $bin ]] || bin=$tools/Scripts
"$bin/python" -m pip install --quiet --disable-pip-version-check maturin==1.16.0 ziglang==0.17.1
# maturin asks the `python` of the path for zig.
export PATH=$bin:$PATH

if [[ $target == source ]]; then
  maturin sdist --out "$dist"
  exit
fi
flags=(--release --locked --out "$dist" --target "$target")
case $target in
  *-linux-gnu) flags+=(--zig --compatibility manylinux2014) ;;
  *-linux-musl) flags+=(--zig --compatibility musllinux_1_2) ;;
esac
rustup target add "$target"
maturin build "${flags[@]}"
