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
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import wheels
from names import Library, Public, Seen


OUT = Path(__file__).parent.parent / "rules" / "index"


@dataclass
class Package:
    """One package, the distribution that carries it, and where its public names are found."""

    name: str
    distribution: str
    first: tuple[int, int]
    # Module roots whose names together are the package's, by the name they have in the wheel.
    roots: list[str]
    # Modules that bind names by running loops over what is listed in their stubs.
    closed: list[str] = field(default_factory=list)
    # Only where a release has one of these files are they known whole.
    stubs: list[str] = field(default_factory=list)
    # Parts that scripts do not use: nothing is said of what is in them.
    shut: list[str] = field(default_factory=list)
    # Minor releases too far apart: every so many patches of these count as well.
    patches: dict[tuple[int, int], int] = field(default_factory=dict)
    # Parts of those in which it is told what making a class takes.
    makers: list[str] = field(default_factory=list)
    # The only modules within it that are looked into, if that is said.
    only: list[str] = field(default_factory=list)
    # Whether the members of classes are of interest.
    members: bool = False
    # Modules that other packages put there, and folders of a wheel without Python.
    added: list[str] = field(default_factory=list)
    # Names bound while it runs in the releases from the first to the last that are given.
    bound: list[tuple[str, str, str]] = field(default_factory=list)
    # Names that are no longer there from a release on, though sources still tell of them.
    gone: dict[str, str] = field(default_factory=dict)
    # Releases before this one tell too little of themselves.
    told: str = "0"
    # Modules that are another package's.
    elsewhere: dict[str, str] = field(default_factory=dict)
    # Another distribution that carries a part: the name of the part, the distribution, its roots, and which of
    # its releases belong to a release of the package.
    part: tuple[str, str, list[str], Callable] | None = None
    # At most so many of the latest minor releases, evenly spaced.
    most: int = 100


KINDS = "Byte Char Short Int Long Half Float Double Bool BFloat16".split()

BEFORE_ONE = """audio_summary batch_cholesky batch_matmul batch_matrix_determinant batch_matrix_diag batch_matrix_inverse
batch_matrix_solve batch_matrix_transpose complex_abs concat_v2 histogram_summary image.per_image_whitening
image_summary inv listdiff merge_all_summaries merge_summary mul neg nn.bidirectional_rnn nn.rnn
nn.seq2seq nn.state_saving_rnn pack scalar_summary select select_v2 sub train.SummaryWriter
unpack""".split()

# Other packages hand on what NumPy has.
ARRAYS = [line[1:].split()[0] for line in (OUT / "numpy.txt").read_text().splitlines() if line.startswith(".") and line[1] != "."]

PACKAGES = [
    Package(
        "torch", "torch", (1, 0), ["torch"], closed=["torch", "torch.nn.functional"], members=True,
        stubs=["torch/__init__.pyi", "torch/_C/__init__.pyi"], told="1.1",
        # Tensors and storages of the GPU are bound by the compiled part.
        bound=[(f"torch.cuda.{kind}{what}", "1.0", "99") for what in ("Tensor", "Storage") for kind in KINDS]
        + [(f"torch.{kind}{what}", "1.0", "99") for what in ("Tensor", "Storage") for kind in KINDS]
        + [(f"torch.cuda.sparse.{kind}Tensor", "1.0", "99") for kind in KINDS]
        # `__getattr__` of the module looks them up.
        + [(f"torch.has_{what}", "2.1", "99") for what in ("cuda", "cudnn", "mkldnn", "mps")],
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
    Package("torchvision", "torchvision", (0, 1), ["torchvision"], shut=["torchvision.prototype"]),
    Package("torchaudio", "torchaudio", (0, 3), ["torchaudio"],
            added=["torchaudio.info", "torchaudio.load", "torchaudio.save"]),
    Package(
        "tensorflow", "tensorflow", (1, 0), ["tensorflow", "tensorflow._api.v1.v1"], closed=["tensorflow"],
        gone={"tensorflow.contrib": "2.0", **{f"tensorflow.{name}": "1.1" for name in BEFORE_ONE}},
        # From 2.6 on Keras comes in a wheel of its own, from 2.16 on in whichever of Keras 3 there is.
        part=("tensorflow.keras", "keras", ["keras._tf_keras.keras", "keras.api._v2.keras"],
              lambda own, keras: (2, 6) <= own < (2, 16) and own[:2] == keras[:2] or own >= (2, 16) and keras >= (3, 0)),
        # What old names lead to in Keras, loaded when it is asked for.
        bound=[("tensorflow.initializers", "2.6", "99"), ("tensorflow.losses", "2.6", "99"), ("tensorflow.metrics", "2.6", "99"),
               ("tensorflow.optimizers", "2.6", "99"), ("tensorflow.compat.v1.keras", "2.6", "99"),
               ("tensorflow.compat.v1.layers", "2.6", "99"), ("tensorflow.compat.v1.nn.rnn_cell", "2.6", "99"),
               *((f"tensorflow.compat.{way}{name}", "2.6", "99") for way in ("v2.", "v1.compat.v2.", "v1.compat.v1.", "v2.compat.v2.", "v2.compat.v1.")
                 for name in ("initializers", "keras", "losses", "metrics", "optimizers")), ("tensorflow.flags", "1.0", "1.15.99"),
               ("tensorflow.app.flags", "1.0", "1.15.99"),
               # Gone with 1.0; scripts that say nothing of their releases may be older.
               *((f"tensorflow.{name}", "1.0", "1.0.99") for name in BEFORE_ONE)],
        added=[f"tensorflow.{name}" for name in "examples lite load_op_library mod python user_ops compat.v1.flags compat.v1.app.flags".split()],
        shut=["tensorflow.python", "tensorflow.core", "tensorflow.compiler", "tensorflow.contrib",
              "tensorflow.tools", "tensorflow.lite", "tensorflow.tsl", "tensorflow.include", "tensorflow.xla_aot_runtime_src",
              "tensorflow.raw_ops", "tensorflow.examples", "tensorflow.security"],
        makers=["tensorflow.python.keras", "tensorflow.python.layers"],
    ),
    Package("keras", "keras", (1, 0), bound=[("keras.applications.layers", "2.2", "2.3.99")], makers=["keras"], roots=["keras", "keras.api._v2.keras", "keras.api", "keras._tf_keras.keras"],
            shut=["keras.src", "keras.engine", "keras.integration_test", "keras.protobuf", "keras.saving", "keras.distribute"]),
    Package("jax", "jax", (0, 1), ["jax"], closed=["jax", "jax.numpy"],
            patches={(0, 1): 10, (0, 2): 5, (0, 3): 5, (0, 4): 4},
            shut=["jax.experimental", "jax.interpreters", "jax.lib", "jax.extend", "jax.tools", "jax.core", "jax.version"]),
    Package("pytorch_lightning", "pytorch-lightning", (0, 5), ["pytorch_lightning"]),
    Package("lightning", "lightning", (1, 8), ["lightning"],
            shut=["lightning.app", "lightning.store", "lightning.data"],
            elsewhere={"lightning.pytorch": "pytorch_lightning"}),
    Package("transformers", "transformers", (2, 0), ["transformers"], most=120,
            only=["transformers.trainer", "transformers.training_args", "transformers.optimization", "transformers.data",
                  "transformers.trainer_callback", "transformers.trainer_utils", "transformers.trainer_seq2seq",
                  "transformers.training_args_seq2seq"]),
    Package("accelerate", "accelerate", (0, 1), ["accelerate"], most=16,
            shut=["accelerate.commands", "accelerate.test_utils", "accelerate.utils"]),
    Package("flax", "flax", (0, 1), ["flax"], shut=["flax.core", "flax.experimental"]),
    Package("optax", "optax", (0, 0), ["optax"], patches={(0, 0): 3, (0, 1): 3}, shut=["optax.contrib", "optax.experimental"]),
    Package("haiku", "dm-haiku", (0, 0), ["haiku"], patches={(0, 0): 3}, shut=["haiku.experimental"]),
    Package(
        "numpy", "numpy", (1, 16), ["numpy"], closed=["numpy"], stubs=["numpy/__init__.pyi"],
        shut=["numpy.core", "numpy.f2py", "numpy.distutils", "numpy.testing", "numpy.compat", "numpy.ma", "numpy.lib",
              "numpy.typing", "numpy.random", "numpy.ctypeslib", "numpy.polynomial", "numpy.matrixlib", "numpy.rec",
              "numpy.char", "numpy.strings", "numpy.exceptions", "numpy.dtypes"],
        # Until 1.23 they were other names of what Python has.
        gone={f"numpy.{name}": "1.24" for name in "int float complex object str unicode".split()},
        bound=[(f"numpy.{name}", "0", "1.23.99") for name in "bool int float complex object str long unicode".split()],
    ),
    # What stands around the frameworks: the names that its releases took away crash runs as well.
    Package("yaml", "pyyaml", (3, 10), ["yaml"]),
    Package("PIL", "pillow", (4, 0), ["PIL"]),
    Package("scipy", "scipy", (0, 19), ["scipy"], bound=[(f"scipy.{name}", "0", "1.11.99") for name in ARRAYS],
            closed=["scipy", "scipy.misc", "scipy.ndimage", "scipy.integrate", "scipy.signal", "scipy.interpolate"],
            shut=[f"scipy.{part}" for part in """cluster constants datasets differentiate fft fftpack io linalg odr optimize
                  setup sparse spatial special stats weave""".split()]),
    Package("sklearn", "scikit-learn", (0, 18), ["sklearn"], closed=["sklearn", "sklearn.impute", "sklearn.model_selection"],
            shut=["sklearn.utils", "sklearn.datasets", "sklearn.tests", "sklearn.experimental", "sklearn.externals.joblib",
                  "sklearn.callback", "sklearn.conftest"]),
    Package("pandas", "pandas", (0, 20), ["pandas"], members=True,
            shut=[*(f"pandas.{part}" for part in """_libs api arrays compat computation conftest errors formats indexes
                  lib msgpack parser plotting sparse stats tests tools tseries tslib types util""".split()),
                  *(f"pandas.core.{part}" for part in """_numba algorithms array_algos arrays categorical common computation
                  config_init datetools dtypes groupby indexes indexers internals interchange methods missing nanops ops
                  panel panel4d panelnd sparse tools util window""".split()),
                  *(f"pandas.io.{part}" for part in """clipboard excel formats parsers pytables sas sql stata""".split())]),
    Package("librosa", "librosa", (0, 5), ["librosa"]),
    Package("torchtext", "torchtext", (0, 1), ["torchtext"]),
    Package("torchmetrics", "torchmetrics", (0, 2), ["torchmetrics"], shut=["torchmetrics.utilities"]),
    Package("gym", "gym", (0, 0), ["gym"], members=True,
            shut=["gym.envs", "gym.utils", "gym.vector", "gym.error", "gym.logger", "gym.monitoring", "gym.benchmarks"]),
    Package("gymnasium", "gymnasium", (0, 26), ["gymnasium"], members=True,
            shut=["gymnasium.envs", "gymnasium.utils", "gymnasium.vector", "gymnasium.error", "gymnasium.logger",
                  "gymnasium.experimental"]),
    Package("matplotlib", "matplotlib", (2, 0), ["matplotlib"], only=["matplotlib.pyplot"]),
    Package("skimage", "scikit-image", (0, 13), ["skimage"], shut=["skimage.external", "skimage.data", "skimage.future"]),
    Package("networkx", "networkx", (1, 11), ["networkx"], closed=["networkx"],
            shut=[f"networkx.{part}" for part in "algorithms drawing external generators linalg testing tests utils".split()]),
    Package("albumentations", "albumentations", (0, 1), ["albumentations"], shut=["albumentations.core"]),
]


def releases(package: Package, index: str) -> tuple[list[Release], list[str]]:
    """The latest patch of each minor release, and the numbers of all others."""
    minors: dict[tuple[int, ...], Release] = {}
    files_of: dict[tuple[int, ...], list[wheels.File]] = {}
    known = sorted(wheels.versions(index, package.distribution).items())
    for version, files in known:
        minor = (version + (0,))[:2]
        addresses = _ordered(files)
        if minor < package.first or not addresses:
            continue
        if minor in package.patches:
            minor += ((version + (0, 0))[2] // package.patches[minor],)
        # A minor release is made for what any of its patches is made for.
        files_of.setdefault(minor, []).extend(files)
        minors[minor] = Release(version, addresses, wheels.pythons(files_of[minor]))
    kept = sorted(minors)
    if len(kept) > package.most:
        step = (len(kept) - 1) / (package.most - 1)
        kept = [kept[round(at * step)] for at in range(package.most)]
    chosen = [minors[minor] for minor in kept]
    read = {release.version for release in chosen}
    return chosen, [dotted(version) for version, _ in known if version not in read]


@dataclass
class Release:
    version: tuple[int, ...]
    # Of the smallest likely wheel first, or the source archive.
    addresses: list[str]
    pythons: str


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _ordered(files: list[wheels.File]) -> list[str]:
    """Wheels for macOS carry the least of what is not Python. Those for Python 2 are taken last, since some hold
    sources that only Python 2 reads."""
    order = ("none-any", "macosx", "manylinux", ".tar.gz", ".zip")
    found = [(("-cp2" in file.name), kind, file.address) for file in files for kind, what in enumerate(order) if what in file.name]
    return [address for *_, address in sorted(found)]


class Reader:
    """Reads releases, of which the cache keeps what is needed."""

    def __init__(self, index: str, cache: Path):
        self.index, self.cache = index, cache
        self.libraries: dict[str, Library] = {}

    def library(self, package: Package, roots: list[str], release: Release) -> Library:
        tops = {root.split(".")[0] for root in roots} | {"tensorflow_core"}

        def wanted(name: str) -> bool:
            return name.endswith((".py", ".pyi")) and name.split("/")[0] in tops

        # Some wheels are shells that only ask for another distribution.
        texts = (wheels.python_files(address, wanted, self.cache) for address in release.addresses)
        files = next((files for files in texts if files), {})
        is_whole = not package.stubs or any(name in files for name in package.stubs)
        return Library(files, package.closed if is_whole else [], package.shut, package.only, package.makers)

    def package(self, package: Package) -> str:
        public = Public(package.name, package.members, package.elsewhere)
        chosen, others = releases(package, self.index)
        for release in chosen:
            print(f"{package.name} {dotted(release.version)}", file=sys.stderr, flush=True)
            public.release(dotted(release.version), release.pythons)
            if release.version < numbers(package.told):
                public.opened.add(len(public.versions) - 1)
            public.add(self.library(package, package.roots, release), [(root, package.name) for root in package.roots])
            for library, roots in self.parts(package, release):
                public.add(library, roots)
            for name in package.added:
                public.note(name, Seen("m", is_open=True))
            for name, first, last in package.bound:
                if numbers(first) <= release.version <= numbers(last):
                    public.note(name, Seen("m", is_open=True))
        for name, first in package.gone.items():
            for at, version in enumerate(public.versions):
                if numbers(version) >= numbers(first):
                    public.entities.get(name, {}).pop(at, None)
        self.correct(public)
        return public.text(others)

    def correct(self, public: Public) -> None:
        """What releases showed that were installed, and that their sources do not tell. What the one before it
        that was installed did not show may have come at any time between."""
        versions = [numbers(version) for version in public.versions]
        path = OUT / "shown" / f"{public.package}.txt"
        installed: dict[tuple[int, ...], list[str]] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            release, _, name = line.partition(" ")
            installed.setdefault(numbers(release), []).extend([name] if name else [])
        before = -1
        for release, names in sorted(installed.items()):
            # What the last of them showed, later ones are taken to have.
            end = len(versions) if release == max(installed) else None
            same = [at for at, version in enumerate(versions) if version[:2] == release[:2]]
            first = same[0] if len(same) == 1 else max(at for at, version in enumerate(versions) if version <= release)
            at = same[0] if len(same) == 1 else min(at for at, version in enumerate(versions) if version >= release)
            for name in names:
                name, _, param = name.rstrip(")").partition("(")
                public.shown(name, param, range(before + 1, end or at + 1))
            before = first

    def parts(self, package: Package, release: Release):
        if package.part is None:
            return
        name, distribution, roots, belongs = package.part
        carrier = next(one for one in PACKAGES if one.distribution == distribution)
        for other in releases(carrier, self.index)[0]:
            if belongs(release.version, other.version):
                key = other.addresses[0]
                if key not in self.libraries:
                    self.libraries[key] = self.library(carrier, roots, other)
                library = self.libraries[key]
                root = next((root for root in roots if root in library.sources), None)
                if root:
                    yield library, [(root, name)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--index", required=True, help="address of a package index")
    parser.add_argument("--cache", type=Path, default=Path("target/wheels"))
    parser.add_argument("packages", nargs="*")
    args = parser.parse_args()
    reader = Reader(args.index, args.cache)
    for package in PACKAGES:
        if args.packages and package.name not in args.packages:
            continue
        text = reader.package(package)
        (OUT / f"{package.name}.txt").write_text(text)
        print(f"{package.name}: {len(text.splitlines())} lines, {len(text) // 1024} KiB", file=sys.stderr)


if __name__ == "__main__":
    main()
