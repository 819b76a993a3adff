"""Facts: what was seen, and on which lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .places import Places, Stack


@dataclass
class Facts:
    """A fact is named after the rule it corresponds to; of several at one place the first is kept."""

    places: Places
    told: list[dict] = field(default_factory=list)
    seen: set[tuple] = field(default_factory=set)

    def say(self, fact: str, at: Stack, detail: str) -> None:
        key = (fact, *at[:1])
        if key not in self.seen:
            self.seen.add(key)
            self.told.append({"fact": fact, "lines": [str(place) for place in at], "detail": detail})


# What PyTorch says when it stops, and the rules that foresee it. Where several could, the first is named and the
# others are as good.
ERRORS: list[tuple[str, tuple[str, ...]]] = [
    (r"backward through the graph a second time", ("undetached-hidden-state", "needless-retain-graph", "retained-graph", "backward-through-freed-graph")),
    (r"grad can be implicitly created only for scalar", ("non-scalar-backward",)),
    (r"does not require grad and does not have a grad_fn", ("detached-loss", "graph-broken-in-forward")),
    (r"before Module.__init__\(\) call|super\(.*__init__", ("missing-super-init",)),
    (r"[Ee]xpected all tensors to be on the same device", ("device-mismatch", "cpu-tensor-in-forward")),
    (r"expected target dtype|result type \w+ can't be cast|Found dtype|expected scalar type Long|\"nll_loss", ("wrong-target-dtype",)),
    (r"must have the same dtype|expected .*scalar type|Input type .* and (bias|weight) type", ("dtype-mismatch",)),
    (r"(unscale_|step)\(\) has already been called|unscale_\(\) is being called after step", ("scaler-not-updated",)),
    (r"No inf checks were recorded|Attempted step but _scale is None", ("raw-backward", "misplaced-clipping", "misplaced-zero-grad")),
    (r"Expected more than 1 value per channel", ("single-sample-statistics",)),
    (r"empty parameter list", ("exhausted-parameters", "unregistered-submodule")),
    (r"unsafe to autocast", ("bce-under-autocast",)),
    (r"all elements of input should be between 0 and 1", ("sigmoid-mismatch",)),
    (r"since version [\d.]+ and is now removed", ("removed-api",)),
    (r"missing \d+ required (positional|keyword-only) argument|takes .*\d+ positional arguments? but \d+ (was|were) given", ("mismatched-arguments",)),
    (r"(too many|not enough) values to unpack", ("mismatched-unpacking",)),
    (r"has no attribute|unexpected keyword argument|cannot import name", ("unknown-api", "removed-api", "misspelt-attribute", "mismatched-arguments")),
    (r"returned an incorrect number of gradients", ("backward-arity",)),
    (r"Cannot re-initialize CUDA in forked subprocess", ("cuda-in-worker",)),
    (r"Can't call numpy\(\) on Tensor that requires grad|can't convert cuda:?\d* device type tensor to numpy", ("unconvertible-tensor",)),
    (r"sampler option is mutually exclusive with shuffle", ("shuffle-with-sampler",)),
    (r"value cannot be converted to type .* without overflow", ("mask-overflow",)),
    (r"Attempting to unscale FP16 gradients", ("half-model-with-scaler",)),
    (r"must be Tensor, not (numpy\.)?ndarray", ("array-for-tensor",)),
    (r"invalid index of a 0-dim tensor|too many indices for array", ("deprecated-api", "shape-mismatch")),
    (r"Expected !nested_tensorlist", ("misplaced-clipping",)),
    (r"modified by an inplace operation", ("modified-in-place", "inplace-between-backwards", "inplace-on-saved-tensor")),
    (r"a leaf Variable that requires grad is being used in an in-place operation|view of a leaf", ("leaf-modified", "leaf-modified-in-place")),
]


def rules_of_error(message: str) -> tuple[str, ...]:
    for pattern, rules in ERRORS:
        if re.search(pattern, message):
            return rules
    return ()
