"""What PyTorch computes at ordinary points and at the edges, for the tests of `src/replay/ir`.

Run `python scripts/replay_golden.py > src/replay/ir/tests/torch.tsv` with any PyTorch; a CPU build is enough.
Each line: function, type, operands, output, gradients. An operand is `learned`, `given` or `number`, a colon,
and its numbers; a gradient is `-` where none is asked for. Rows are weighed with 1, 2, 3 and -4 before they are
summed up, so that gradients differ from place to place.
"""

import torch
import torch.nn.functional as F

INF, NAN = float("inf"), float("nan")
EDGES = [[0.0, 0.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0], [0.0, -0.0, 1.0, -1.0], [0.5, -0.25, 3.0, -2.0], [100.0, -100.0, 30.0, -30.0]]
# What overflows, and what stands for a mask, on either side and alone.
INFINITE = [[INF, -INF, 1.0, -1.0], [-INF, 2.0, 0.5, 0.0], [INF, INF, INF, INF]]
UNIT = [[0.0, 1.0, 0.5, 0.25], [1e-12, 1.0 - 6e-8, 0.9, 0.1], [1.0, 1.0, 0.0, 0.0]]
LABELS = [0.0, 1.0, 1.0, 0.0]
CLASS = [0.0, 0.0, 1.0, 0.0]
WEIGHTS = [1.0, 2.0, 3.0, -4.0]
PAIR = [1.0, 2.0, -1.0, 0.5]


def learned(values):
    return ("learned", values)


def given(values):
    return ("given", values)


def number(value):
    return ("number", [value])


def of_one():
    functions = {
        "neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "exp": torch.exp, "exp2": torch.exp2,
        "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "atan": torch.atan,
        "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "erf": torch.erf, "sigmoid": torch.sigmoid,
        "log-sigmoid": F.logsigmoid, "softplus": F.softplus, "relu": torch.relu, "silu": F.silu, "gelu": F.gelu,
        "square": torch.square, "reciprocal": torch.reciprocal, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
        "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p, "sum": torch.sum,
        "mean": torch.mean, "prod": torch.prod, "amax": torch.amax, "amin": torch.amin,
        "norm1": lambda x: x.norm(1), "norm2": lambda x: x.norm(2), "logsumexp": lambda x: torch.logsumexp(x, 0),
        "softmax": lambda x: torch.softmax(x, 0), "log-softmax": lambda x: torch.log_softmax(x, 0),
    }
    for name, function in functions.items():
        # With a zero beside an infinity PyTorch multiplies all others, and gives NaN where ours gives zero.
        for point in EDGES + [point for point in INFINITE if name != "prod" or 0.0 not in point]:
            yield name, function, [learned(point)]
    for name in ["asin", "acos", "atanh"]:
        for point in UNIT:
            yield name, getattr(torch, name), [learned(point)]
    for name in ["softmax", "log-softmax", "logsumexp"]:
        yield name, functions[name], [learned([0.0, -INF, 1.0, -INF])]
        yield name, functions[name], [learned([-INF, -INF, -INF, -INF])]
        yield name, functions[name], [learned([1e4, -1e4, 0.0, 1.0])]


def of_two():
    functions = {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
        "max": torch.maximum, "min": torch.minimum,
        "mse": F.mse_loss, "l1": F.l1_loss,
        "cosine-similarity": lambda x, y: F.cosine_similarity(x, y, dim=0, eps=1e-8),
    }
    for name, function in functions.items():
        for point in EDGES + INFINITE:
            yield name, function, [learned(point), learned(PAIR)]
            yield name, function, [learned(PAIR), learned(point)]
    for exponent in [0.0, 0.5, 1.0, 2.0, 3.0, -1.0]:
        for point in EDGES[:4] + INFINITE:
            yield "pow", torch.pow, [learned(point), number(exponent)]
    for point in EDGES[:4] + INFINITE:
        yield "pow", torch.pow, [learned([0.0, 1.0, 2.0, 0.0]), learned(point)]
        yield "clamp-min", lambda x, y: x.clamp(min=float(y)), [learned(point), number(0.0)]
        yield "clamp-max", lambda x, y: x.clamp(max=float(y)), [learned(point), number(1.0)]
        for correction in [0.0, 1.0]:
            for name, function in [("var", torch.var), ("std", torch.std)]:
                yield name, lambda x, c, f=function: f(x, unbiased=bool(c)), [learned(point), number(correction)]
        yield "normalize", lambda x, e: F.normalize(x, dim=0, eps=float(e)), [learned(point), number(1e-12)]
        yield "layer-norm", lambda x, e: F.layer_norm(x, (4,), eps=float(e)), [learned(point), number(1e-5)]
    yield "where", lambda c, x, y: torch.where(c != 0, x, y), [given([1.0, 0.0, 1.0, 0.0]), learned([NAN, 1.0, 2.0, 3.0]), learned([1.0, INF, 0.0, 5.0])]
    yield "nan-to-num", lambda x, n, p, m: torch.nan_to_num(x, float(n), float(p), float(m)), [
        learned([NAN, INF, -INF, 1.0]), number(0.0), number(9.0), number(-9.0)]


def losses():
    for point in UNIT:
        yield "bce", F.binary_cross_entropy, [learned(point), given(LABELS)]
        yield "bce", F.binary_cross_entropy, [learned(point), given([0.5, 1.0, 0.0, 0.3])]
        yield "kl-div", lambda x, y: F.kl_div(x, y, reduction="sum"), [learned(PAIR), given(point)]
        yield "gaussian-nll", lambda x, y, v, e: F.gaussian_nll_loss(x, y, v, eps=float(e)), [
            learned(PAIR), given(EDGES[3]), learned(point), number(1e-6)]
    for point in EDGES + INFINITE:
        yield "bce-with-logits", F.binary_cross_entropy_with_logits, [learned(point), given(LABELS)]
        yield "cross-entropy", lambda x, y: F.cross_entropy(x[None], y.argmax()[None]), [learned(point), given(CLASS)]
        yield "nll", lambda x, y: F.nll_loss(x[None], y.argmax()[None]), [learned(point), given(CLASS)]
        yield "poisson-nll", F.poisson_nll_loss, [learned(point), given(LABELS)]
        for width in [0.5, 1.0]:
            yield "huber", lambda x, y, d: F.huber_loss(x, y, delta=float(d)), [learned(point), given(PAIR), number(width)]
            yield "smooth-l1", lambda x, y, d: F.smooth_l1_loss(x, y, beta=float(d)), [learned(point), given(PAIR), number(width)]
    yield "cross-entropy", lambda x, y: F.cross_entropy(x[None], y.argmax()[None]), [learned([0.0, -INF, 1.0, -INF]), given(CLASS)]
    yield "smooth-l1", lambda x, y, d: F.smooth_l1_loss(x, y, beta=float(d)), [learned(EDGES[3]), given(PAIR), number(0.0)]


def text(values):
    flat = values.detach().double().reshape(-1).tolist() if torch.is_tensor(values) else values
    return ",".join(repr(float(value)) for value in flat)


def line(name, function, operands, dtype):
    tensors = [torch.tensor(values, dtype=dtype, requires_grad=kind == "learned") if kind != "number" else torch.tensor(values[0])
               for kind, values in operands]
    numbers = [tensor if kind != "number" else values[0] for tensor, (kind, values) in zip(tensors, operands)]
    output = function(*numbers)
    weights = torch.tensor(WEIGHTS, dtype=dtype) if output.dim() else 1.0
    (output * weights).sum().backward()
    gradients = [text(tensor.grad) if tensor.requires_grad and tensor.grad is not None else "-" for tensor in tensors]
    kinds = "|".join(f"{kind}:{text(values)}" for kind, values in operands)
    return "\t".join([name, str(dtype).removeprefix("torch."), kinds, text(output), "|".join(gradients)])


def main():
    print(f"# PyTorch {torch.__version__}")
    for cases in (of_one, of_two, losses):
        for name, function, operands in cases():
            for dtype in (torch.float32, torch.float64):
                print(line(name, function, operands, dtype))


if __name__ == "__main__":
    main()
