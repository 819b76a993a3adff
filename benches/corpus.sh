#!/usr/bin/env bash
# Rebuilds the corpora of the speed benches from pinned PyPI wheels into benches/corpus:
#   a/     ten machine-learning packages, every .py file
#   b/     every third file of a/, and every third file of packages that import no framework
#   one/   single files: two training scripts of about 600 lines, a model file of 5,308
# The wheels are fetched for one fixed platform and checked against their hashes, so that
# every machine reads the same bytes. Needs bash, pip (>= 23) and python3; about 600 MB while
# it runs, 265 MB afterwards. `--keep-wheels` keeps the downloads.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
corpus=${TRAINLINT_CORPUS:-$here/corpus}
keep=${1:-}
python=${PYTHON:-python3}

fetch() { # requirements file, folder
  mkdir -p "$2"
  "$python" -m pip download --quiet --no-deps --require-hashes --only-binary=:all: \
    --python-version 3.13 --implementation cp --abi cp313 --abi abi3 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --platform any --dest "$2" --requirement "$1"
}

unpack() { # folder of wheels, folder of sources
  rm -rf "$2" && mkdir -p "$2"
  local wheel
  for wheel in "$1"/*.whl; do
    "$python" -m zipfile -e "$wheel" "$2"
  done
  find "$2" -type f ! -name '*.py' -delete
  find "$2" -type d -empty -delete
}

every_third() { # folder of sources, folder that receives a third of them
  local file
  (cd "$1" && find . -name '*.py' -type f | LC_ALL=C sort | awk 'NR % 3 == 1') | while read -r file; do
    mkdir -p "$2/$(dirname "$file")"
    cp "$1/$file" "$2/$file"
  done
}

fetch "$here/corpus-ml.txt" "$corpus/wheels/ml"
fetch "$here/corpus-other.txt" "$corpus/wheels/other"
fetch "$here/corpus-one.txt" "$corpus/wheels/one"
unpack "$corpus/wheels/ml" "$corpus/a"
unpack "$corpus/wheels/one" "$corpus/scripts"
unpack "$corpus/wheels/other" "$corpus/other"

rm -rf "$corpus/b" && mkdir -p "$corpus/b/ml" "$corpus/b/other"
every_third "$corpus/a" "$corpus/b/ml"
every_third "$corpus/other" "$corpus/b/other"
rm -rf "$corpus/other"

rm -rf "$corpus/one" && mkdir -p "$corpus/one"
cp "$corpus/scripts/recipes/lora_dpo_single_device.py" "$corpus/one/torch_0646.py"
cp "$corpus/a/official/recommendation/ncf_keras_main.py" "$corpus/one/keras_0560.py"
cp "$corpus/a/timm/models/vision_transformer.py" "$corpus/one/torch_5308.py"
rm -rf "$corpus/scripts"

[ "$keep" = "--keep-wheels" ] || rm -rf "$corpus/wheels"
for tree in a b; do
  printf '%s: %s files, %s lines\n' "$tree" \
    "$(find "$corpus/$tree" -name '*.py' | wc -l)" \
    "$(find "$corpus/$tree" -name '*.py' -print0 | xargs -0 cat | wc -l)"
done
