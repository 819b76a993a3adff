"""Pretends that there is a GPU: tensors are on the CPU, and carry the device on which they would be.

`tensor.device` says that device, and operations that mix two of them fail as they do on a GPU. All numbers are real.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator

import torch
from torch.overrides import TorchFunctionMode

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
REAL_DEVICE = torch._C.TensorBase.device  # type: ignore[attr-defined]
MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
# Functions that may be given tensors of several devices.
MIXING = {"to", "type_as", "copy_", "__set__", "__get__", "set_", "_has_compatible_shallow_copy_type", "__setitem__", "is_same_size", "equal", "backward", "__repr__", "__format__", "load_state_dict"}
# What they make is on the device of what they are called on, whatever else they are given.
MOVES = {"to", "cuda", "cpu", "type_as"}


def label(tensor: torch.Tensor) -> torch.device:
    return getattr(tensor, "_pretended", CPU)


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors(one)


def put(value: Any, device: torch.device) -> Any:
    for tensor in tensors(value):
        tensor._pretended = device  # type: ignore[attr-defined]
    return value


def meant(value: Any) -> torch.device | None:
    """The device that an argument names."""
    if isinstance(value, torch.device):
        return CUDA if value.type == "cuda" else value
    if isinstance(value, str) and value.split(":")[0] in ("cuda", "cpu"):
        return CUDA if value.startswith("cuda") else CPU
    return None


class Pretended(TorchFunctionMode):
    """Follows devices through every function of PyTorch."""

    quiet = 0

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        given = list(tensors([args, kwargs]))
        if func is torch.device or name == "_parse_to":
            return func(*args, **kwargs)
        if name == "__get__":
            return self._get(func, args)
        if name == "numpy" and given and label(given[0]) == CUDA:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
        device = self._asked(name, args, kwargs)
        args, kwargs = self._on_cpu(name, args, kwargs)
        if device is None:
            device = self._common(name, given)
        out = func(*args, **kwargs)
        if isinstance(out, torch.Tensor) and given and out is given[0] and label(out) != device and name in MOVES:
            out = out.clone() if torch.is_grad_enabled() and out.requires_grad else out.detach().clone().requires_grad_(out.requires_grad)
        if name == "__set__" and len(given) == 2:
            put(given[0], label(given[1]))
        elif name == "__deepcopy__" or name.endswith("_") and not name.endswith("__") and given:
            pass
        else:
            put(out, device)
        return out

    def _get(self, func: Callable, args: tuple) -> Any:
        owner = args[0]
        if func is REAL_DEVICE.__get__:  # type: ignore[attr-defined]
            return CPU if self.quiet else label(owner)
        out = func(*args)
        return put(out, label(owner)) if isinstance(out, torch.Tensor) and not hasattr(out, "_pretended") else out

    def _asked(self, name: str, args: tuple, kwargs: dict) -> torch.device | None:
        if name == "cuda":
            return CUDA
        if name == "cpu":
            return CPU
        named = meant(kwargs.get("device"))
        if named is not None:
            return named
        if name == "to":
            for one in args[1:]:
                if meant(one) is not None:
                    return meant(one)
                if isinstance(one, torch.Tensor):
                    return label(one)
            return label(args[0])
        return None

    def _on_cpu(self, name: str, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        args = tuple(CPU if meant(one) == CUDA and name != "__set__" else one for one in args)
        if name == "cuda":
            args, kwargs = args[:1], {}
        if "device" in kwargs and meant(kwargs["device"]) is not None:
            kwargs["device"] = CPU
        return args, kwargs

    def _common(self, name: str, given: list[torch.Tensor]) -> torch.device:
        """The device of the result; an error where the arguments are on two."""
        if not given:
            return CPU
        if name in MIXING or name.endswith("_like") or name.startswith("new_") or self.quiet:
            return label(given[0])
        if name == "__getitem__":
            on_gpu = any(label(one) == CUDA for one in given[1:])
            if on_gpu and label(given[0]) == CPU:
                raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
            return label(given[0])
        # Numbers of the CPU go with tensors of the GPU.
        weighty = {label(one) for one in given if one.dim() > 0 or label(one) == CUDA}
        if len(weighty) > 1:
            raise RuntimeError(MIXED)
        return weighty.pop() if weighty else CPU


def pretend() -> None:
    """From here on there is a GPU."""
    mode = Pretended()
    mode.__enter__()
    torch.Tensor.device = property(lambda tensor: CPU if mode.quiet else label(tensor))  # type: ignore[assignment]
    torch.Tensor.is_cuda = property(lambda tensor: label(tensor) == CUDA)  # type: ignore[assignment]
    torch.Tensor.cuda = lambda tensor, *a, **k: put(tensor.clone() if label(tensor) == CPU else tensor, CUDA)  # type: ignore[method-assign]
    new = torch.nn.Parameter.__new__

    def parameter(cls: type, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        made = new(cls, data, *args, **kwargs)
        return put(made, label(data)) if isinstance(data, torch.Tensor) else made

    torch.nn.Parameter.__new__ = parameter  # type: ignore[method-assign]
    torch.cuda.is_available = lambda: not mode.quiet
    torch.cuda.device_count = lambda: 1
    torch.cuda.current_device = lambda: 0
    for name in ("synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_device", "reset_peak_memory_stats"):
        setattr(torch.cuda, name, lambda *a, **k: None)
    torch.cuda.memory_allocated = torch.cuda.max_memory_allocated = lambda *a, **k: 0
    _steps_are_quiet(mode)
    _precision_of_the_cpu()


def _steps_are_quiet(mode: Pretended) -> None:
    """What PyTorch does inside of optimizers, clipping and backward passes is right by itself."""
    def quietly(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        # With the attributes of the original: PyTorch marks the steps around which it has put its hooks.
        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            mode.quiet += 1
            try:
                return original(*args, **kwargs)
            finally:
                mode.quiet -= 1

        setattr(owner, name, run)

    for kind in list(vars(torch.optim).values()):
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer) and "step" in vars(kind):
            quietly(kind, "step")
    quietly(torch.nn.utils, "clip_grad_norm_")
    quietly(torch.nn.utils, "clip_grad_value_")
    quietly(torch.amp.GradScaler, "step")
    quietly(torch.amp.GradScaler, "unscale_")


def _precision_of_the_cpu() -> None:
    """Autocast and scalers of the GPU are those of the CPU, with the dtypes of the GPU."""
    autocast = torch.amp.autocast_mode.autocast
    begin = autocast.__init__

    def enter(self: Any, device_type: str = "cuda", dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        wanted = dtype or (torch.float16 if device_type == "cuda" else torch.bfloat16)
        begin(self, "cpu", wanted, enabled, cache_enabled)

    autocast.__init__ = enter  # type: ignore[method-assign]
    torch.cuda.amp.autocast = lambda enabled=True, dtype=None, cache_enabled=None: autocast("cuda", dtype, enabled)  # type: ignore[assignment, misc]
    make = torch.amp.GradScaler.__init__

    def scaler(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        make(self, "cpu", *args, **kwargs)

    torch.amp.GradScaler.__init__ = scaler  # type: ignore[method-assign]
    torch.cuda.amp.GradScaler = lambda *a, **k: torch.amp.GradScaler("cuda", *a, **k)  # type: ignore[assignment, misc]
