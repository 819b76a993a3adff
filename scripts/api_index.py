"""Writes `rules/index/*.txt`: the public names of the frameworks, version by version.

    python3 scripts/api_index.py --index ADDRESS [--cache FOLDER] [package ...]

ADDRESS is that of a package index ("simple" API). Wheels are read, never imported: the names of a module
are those that its source binds. What is bound in a way that only running shows makes a module or class
*open* (`*`): of it nothing can be said to be missing.

The format is described in `rules/index/README.md`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

import wheels
from names import Library, Public


@dataclass
class Package:
    """One package, the distribution that carries it, and where its public names are found."""

    name: str
    distribution: str
    first: tuple[int, int]
    # Module roots whose names together are the package's, by the name they have in the wheel.
    roots: list[str]
    # Releases from long ago that scripts are still written for.
    also: list[tuple[int, int]] = field(default_factory=list)
    # Modules that bind names by running loops over what is listed in their stubs.
    closed: list[str] = field(default_factory=list)
    # Parts that scripts do not use: nothing is said of what is in them.
    shut: list[str] = field(default_factory=list)
    # Minor releases too far apart: every so many patches of these count as well.
    patches: dict[tuple[int, int], int] = field(default_factory=dict)
    # The only modules within it that are looked into, if that is said.
    only: list[str] = field(default_factory=list)
    # Whether the members of classes are of interest.
    members: bool = False
    # Modules that other packages put there, and folders of a wheel without Python.
    added: list[str] = field(default_factory=list)
    # Modules that are another package's.
    elsewhere: dict[str, str] = field(default_factory=dict)
    # At most so many of the latest minor releases, evenly spaced.
    most: int = 100


PACKAGES = [
    Package(
        "torch", "torch", (1, 8), ["torch"], closed=["torch", "torch.nn.functional"], members=True,
        added=["torch.bin", "torch.include", "torch.lib", "torch.share", "torch.test", "torch.gcu", "torch.hpu", "torch.ipu", "torch.mlu", "torch.musa", "torch.npu", "torch.privateuseone",
               "torch.neuron", "torch.sdaa", "torch.xla", "torch.xpu",
               *(f"torch.{kind}{bits}" for kind in ("int", "uint") for bits in range(1, 8))],
        shut=["torch.fx", "torch.testing", "torch.ao", "torch.onnx", "torch.package", "torch.export", "torch.futures",
              "torch.quantization", "torch.nn.quantized", "torch.nn.intrinsic", "torch.nn.qat", "torch.nn.quantizable",
              "torch.utils.benchmark", "torch.utils.bottleneck", "torch.utils.hipify", "torch.utils.jit",
              "torch.utils.data.datapipes", "torch.utils.tensorboard", "torch.utils.model_dump", "torch.utils.viz",
              "torch.utils.serialization", "torch.utils.cpp_extension", "torch.distributed.elastic", "torch.csan",
              "torch.distributed.checkpoint", "torch.distributed.tensor", "torch.distributed.pipelining",
              "torch.distributed.rpc", "torch.distributed.nn", "torch.distributed.launcher", "torch.distributed.flight_recorder",
              "torch.distributed.algorithms", "torch.jit", "torch.masked", "torch.multiprocessing", "torch.contrib",
              "torch.profiler", "torch.sparse", "torch.nativert", "torch.headeronly", "torch.include", "torch.share",
              "torch.compiler", "torch.classes", "torch.ops", "torch.mtia", "torch.monitor", "torch.lib"],
    ),
    Package("torchvision", "torchvision", (0, 9), ["torchvision"], shut=["torchvision.prototype"]),
    Package("torchaudio", "torchaudio", (0, 8), ["torchaudio"],
            added=["torchaudio.info", "torchaudio.load", "torchaudio.save"]),
    Package(
        "tensorflow", "tensorflow", (2, 4), ["tensorflow", "tensorflow._api.v1.v1"], also=[(1, 15)],
        closed=["tensorflow"], most=7, elsewhere={"tensorflow.keras": "keras"},
        # Bound while it runs, or of the releases before 1.0, for which old scripts are still around.
        added=[f"tensorflow.{name}" for name in """app.flags lite audio_summary batch_cholesky batch_matmul batch_matrix_determinant batch_matrix_diag batch_matrix_inverse batch_matrix_solve batch_matrix_transpose complex_abs concat_v2 contrib examples flags histogram_summary image.per_image_whitening image.random_crop image_summary initialize_all_variables inv listdiff load_op_library merge_all_summaries merge_summary mod mul neg nn.bidirectional_rnn nn.rnn nn.seq2seq nn.state_saving_rnn op_scope pack python scalar_summary select select_v2 sub train.SummarySaverHook train.SummaryWriter unpack user_ops""".split()],
        shut=["tensorflow.python", "tensorflow.core", "tensorflow.compiler", "tensorflow.contrib", "tensorflow.keras",
              "tensorflow.tools", "tensorflow.lite", "tensorflow.tsl", "tensorflow.include", "tensorflow.xla_aot_runtime_src",
              "tensorflow.raw_ops", "tensorflow.examples", "tensorflow.security"],
    ),
    Package("keras", "keras", (2, 6), most=12, roots=["keras", "keras.api._v2.keras", "keras.api", "keras._tf_keras.keras"],
            shut=["keras.src", "keras.engine", "keras.integration_test", "keras.protobuf", "keras.saving", "keras.distribute"]),
    Package("jax", "jax", (0, 4), ["jax"], closed=["jax", "jax.numpy"], patches={(0, 4): 6},
            shut=["jax.experimental", "jax.interpreters", "jax.lib", "jax.extend", "jax.tools", "jax.core", "jax.version"]),
    Package("pytorch_lightning", "pytorch-lightning", (1, 3), ["pytorch_lightning"]),
    Package("lightning", "lightning", (1, 8), ["lightning"],
            shut=["lightning.app", "lightning.store", "lightning.data"],
            elsewhere={"lightning.pytorch": "pytorch_lightning"}),
    Package("transformers", "transformers", (4, 8), ["transformers"], most=9,
            only=["transformers.trainer", "transformers.training_args", "transformers.optimization", "transformers.data",
                  "transformers.trainer_callback", "transformers.trainer_utils", "transformers.trainer_seq2seq",
                  "transformers.training_args_seq2seq"]),
]


def releases(package: Package, index: str) -> list[tuple[tuple[int, ...], str]]:
    """The latest patch of each minor release, with the address of its smallest likely wheel."""
    minors: dict[tuple[int, int], tuple[tuple[int, ...], str]] = {}
    for version, files in sorted(wheels.versions(index, package.distribution).items()):
        minor = (version + (0,))[:2]
        if minor < package.first and minor not in package.also:
            continue
        address = _choose(files)
        if address and minor in package.patches:
            patch = (version + (0, 0))[2]
            minors[(*minor, patch // package.patches[minor])] = (version, address)
        elif address:
            minors[minor] = (version, address)
    kept = sorted(minors)
    if len(kept) > package.most:
        step = (len(kept) - 1) / (package.most - 1)
        kept = [kept[round(at * step)] for at in range(package.most)]
    return [minors[minor] for minor in kept]


def _choose(files: list[tuple[str, str]]) -> str | None:
    """Wheels for macOS carry the least of what is not Python; those for Windows may be empty shells."""
    order = ("none-any", "macosx", "manylinux")
    for kind in order:
        for name, address in files:
            if kind in name:
                return address
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--index", required=True, help="address of a package index")
    parser.add_argument("--cache", type=Path, default=Path("target/wheels"))
    parser.add_argument("--fetch-only", action="store_true")
    parser.add_argument("packages", nargs="*")
    args = parser.parse_args()
    out = Path(__file__).parent.parent / "rules" / "index"
    out.mkdir(exist_ok=True)
    for package in PACKAGES:
        if args.packages and package.name not in args.packages:
            continue
        public = Public(package.name, package.members, package.elsewhere)
        tops = {root.split(".")[0] for root in package.roots} | {"tensorflow_core"}
        for version, address in releases(package, args.index):
            print(f"{package.name} {'.'.join(map(str, version))}", file=sys.stderr, flush=True)

            def wanted(name: str) -> bool:
                return name.endswith((".py", ".pyi")) and name.split("/")[0] in tops

            files = wheels.python_files(address, wanted, args.cache)
            if args.fetch_only:
                continue
            library = Library(files, package.closed, package.shut, package.only)
            public.add(".".join(map(str, version)), library, package.roots)
            for name in package.added:
                public.note(name, "m", ".".join(map(str, version)), None, True, "")
        if not args.fetch_only:
            text = public.text()
            (out / f"{package.name}.txt").write_text(text)
            print(f"{package.name}: {len(text.splitlines())} lines, {len(text) // 1024} KiB", file=sys.stderr)


if __name__ == "__main__":
    main()
