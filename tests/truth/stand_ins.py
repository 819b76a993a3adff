"""Runs scripts where data sets and trained weights cannot be had: each set is a few samples of its shape. Says of each
script in which line it raised an error, and which.

    python3 tests/truth/stand_ins.py torch SCRIPT …

Used by `scripts/shape_faults.py --run`, in an environment with PyTorch or TensorFlow.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import traceback
from pathlib import Path

#: Seconds that a script may run.
PATIENCE = 60

#: Images of torchvision's sets: how they are stored, how large, how many classes.
IMAGES = {
    "MNIST": ("L", 28, 10), "FashionMNIST": ("L", 28, 10), "KMNIST": ("L", 28, 10),
    "CIFAR10": ("RGB", 32, 10), "CIFAR100": ("RGB", 32, 100), "SVHN": ("RGB", 32, 10), "STL10": ("RGB", 96, 10),
    "ImageFolder": ("RGB", 256, 2),
}

#: How many samples a set of torchvision has here.
SAMPLES = 256

#: Sets of Keras: shape of an image, shape of a label.
ARRAYS = {"mnist": ((28, 28), ()), "fashion_mnist": ((28, 28), ()), "cifar10": ((32, 32, 3), (1,)), "cifar100": ((32, 32, 3), (1,))}


def torchvision() -> None:
    import torch
    import torchvision.datasets
    from PIL import Image

    class Images(torch.utils.data.Dataset):
        def __init__(self, *args, transform=None, **kwargs):
            is_folder = self.name == "ImageFolder" and len(args) > 1
            self.transform = args[1] if is_folder else transform

        def __len__(self):
            return SAMPLES

        def __getitem__(self, index):
            mode, size, classes = IMAGES[self.name]
            image = Image.new(mode, (size, size))
            return (self.transform(image) if self.transform else image), index % classes

    for name in IMAGES:
        made = type(name, (Images,), {"name": name})
        setattr(torchvision.datasets, name, made)
    Image.open = lambda path: Image.new("RGB", (640, 480))
    torch.set_num_threads(1)
    torch.hub.load_state_dict_from_url = lambda *args, **kwargs: {}
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("torchvision.models") and hasattr(module, "WeightsEnum"):
            module.WeightsEnum.get_state_dict = lambda self, *args, **kwargs: {}
    plain = torch.nn.Module.load_state_dict
    torch.nn.Module.load_state_dict = lambda self, state, *args, **kwargs: plain(self, state, strict=bool(state))


def keras() -> None:
    import numpy as np
    import tensorflow as tf

    def load_data(image, label):
        def part(n):
            return np.zeros((n, *image), dtype="uint8"), np.arange(n * max(1, *label, 1)).reshape(n, *label) % 10

        return lambda *args, **kwargs: (part(60000 if image == (28, 28) else 50000), part(10000))

    for name, (image, label) in ARRAYS.items():
        getattr(tf.keras.datasets, name).load_data = load_data(image, label)


def told(script: Path) -> tuple[int, str]:
    """The line of a script where an error was raised, 0 where none was, and the error."""
    sys.argv = [str(script)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except BaseException as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(script)]
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return (lines or [-1])[-1], said
    return 0, ""


def main() -> None:
    """Each script has a process of its own, which begins where the frameworks are imported."""
    frameworks, *scripts = sys.argv[1:]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    {"torch": torchvision, "tensorflow": keras, "numpy": lambda: None}[frameworks]()
    for script in map(Path, scripts):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(PATIENCE)
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            line, said = told(script)
            os.write(writer, f"{line}\t{said[:300]}".encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            # What is still running by then has passed the line.
            answer = lines.read() or "0\t"
        os.waitpid(child, 0)
        print(f"{script}\t{answer}", flush=True)


if __name__ == "__main__":
    main()
