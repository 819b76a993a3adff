"""What shapes PyTorch gives, for the test of the tables' shape functions.

Run `python scripts/shape_golden.py > tests/shapes/torch.tsv` with any PyTorch; a CPU build is enough. Each line is a call
and what comes of it: the shapes of the tensors in it, one behind another, or `!` and the first line of the error. Calls
are drawn at random, from a fixed seed, so that about one in four fails.
"""

import random
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
draw = random.Random(18)
warnings.simplefilter("ignore")


def size(low=1, high=9):
    return draw.randint(low, high)


def sizes(rank, low=1, high=9):
    return [size(low, high) for _ in range(rank)]


def tensor(shape):
    return f"torch.randn({', '.join(map(str, shape))})" if shape else "torch.tensor(1.5)"


def maybe(*options):
    return draw.choice(options)


def near(number):
    """The number, or seldom another."""
    return number if draw.random() < 0.8 else max(1, number + draw.choice([-2, -1, 1, 2, 5]))


def given(**options):
    return "".join(f", {name}={value}" for name, value in options.items() if draw.random() < 0.5)


def axis(rank):
    return draw.randint(-rank - (draw.random() < 0.1), max(rank - 1, 0) + (draw.random() < 0.1))


def flag():
    return maybe("True", "False")


def convolution():
    rank, channels, kernel = size(1, 3), size(1, 6), size(1, 4)
    kernel = maybe(str(kernel), str(tuple(sizes(rank, 1, 4))) if rank > 1 else str(kernel))
    shape = maybe([size(1, 3)], []) + [near(channels)] + sizes(rank, 2, 14)
    options = given(stride=size(1, 3), padding=size(0, 2), dilation=size(1, 2), bias=flag())
    if draw.random() < 0.1:
        options = maybe(", padding='same'", ", padding='valid'")
    return f"nn.Conv{rank}d({channels}, {size()}, {kernel}{options})({tensor(shape)})"


def grouped():
    groups, rank = size(1, 3), size(1, 2)
    channels = near(groups * size(1, 3))
    return f"nn.Conv{rank}d({channels}, {groups * size(1, 3)}, 1, groups={groups})({tensor([2, channels] + sizes(rank, 3, 8))})"


def transposed():
    rank, channels = size(1, 3), size(1, 6)
    shape = maybe([size(1, 3)], []) + [near(channels)] + sizes(rank, 1, 7)
    options = given(stride=size(1, 3), padding=size(0, 1), output_padding=size(0, 1), dilation=size(1, 2))
    return f"nn.ConvTranspose{rank}d({channels}, {size()}, {size(1, 4)}{options})({tensor(shape)})"


def pooling():
    rank, kind = size(1, 3), maybe("Max", "Avg")
    shape = maybe([size(1, 3)], []) + sizes(rank + 1, 2, 14)
    options = given(stride=size(1, 3), padding=size(0, 1), ceil_mode=flag())
    if kind == "Max":
        options += given(dilation=size(1, 2))
    if draw.random() < 0.5:
        function = f"F.{kind.lower()}_pool{rank}d"
        return f"{function}({tensor(shape)}, {size(1, 4)}{options})"
    return f"nn.{kind}Pool{rank}d({size(1, 4)}{options})({tensor(shape)})"


def adaptive():
    rank, kind = size(1, 3), maybe("Max", "Avg")
    shape = maybe([size(1, 3)], []) + sizes(rank + 1, 2, 9)
    wanted = maybe(str(size(1, 4)), str(tuple(maybe(size(1, 4), None) for _ in range(rank))) if rank > 1 else "2")
    return f"nn.Adaptive{kind}Pool{rank}d({wanted})({tensor(shape)})"


def linear():
    features = size()
    return f"nn.Linear({features}, {size()})({tensor(sizes(size(0, 3)) + [near(features)])})"


def stacked():
    a, b, c = size(), size(), size()
    middle = maybe("nn.ReLU()", "nn.Dropout(0.1)", f"nn.BatchNorm1d({b})", "nn.Tanh()")
    return f"nn.Sequential(nn.Linear({a}, {b}), {middle}, nn.Linear({near(b)}, {c}))({tensor([size(2, 5), near(a)])})"


def images():
    side, a, b = size(8, 32), size(), size()
    kernel, pool = size(2, 5), size(1, 3)
    left = (side - kernel + 1) // pool
    layers = f"nn.Conv2d(3, {a}, {kernel}), nn.ReLU(), nn.MaxPool2d({pool}), nn.Flatten(), nn.Linear({near(a * left * left)}, {b})"
    return f"nn.Sequential({layers})({tensor([size(1, 3), 3, side, side])})"


def norm():
    rank, channels = size(1, 3), size()
    kind = maybe("BatchNorm", "BatchNorm", "InstanceNorm")
    ranks = maybe(rank, rank, rank, rank - 1)
    return f"nn.{kind}{rank}d({channels})({tensor([size(2, 4), near(channels)] + sizes(ranks, 2, 5))})"


def group_norm():
    groups = size(1, 3)
    channels = near(groups * size(1, 3))
    return f"nn.GroupNorm({groups}, {channels})({tensor([2, near(channels)] + sizes(2, 2, 5))})"


def layer_norm():
    shape = sizes(size(1, 4), 2, 6)
    last = shape[-size(1, 2):]
    wanted = maybe(str(near(last[-1])), str([near(s) for s in last]))
    return f"nn.LayerNorm({wanted})({tensor(shape)})"


def recurrent():
    features, hidden = size(), size(2, 6)
    options = given(num_layers=size(1, 3), batch_first=flag(), bidirectional=flag())
    kind = maybe("LSTM", "GRU", "RNN")
    if kind == "LSTM" and draw.random() < 0.15:
        options += ", proj_size=1"
    return f"nn.{kind}({features}, {hidden}{options})({tensor(sizes(maybe(2, 1, 1, 2, 3), 1, 6) + [near(features)])})"


def cell():
    features = size()
    return f"nn.{maybe('LSTM', 'GRU', 'RNN')}Cell({features}, {size()})({tensor([size(), near(features)])})"


def attention():
    heads = size(1, 4)
    width = near(heads * size(1, 4))
    shape = [size(), size(), near(width)]
    return f"nn.MultiheadAttention({width}, {heads}{given(batch_first=flag())})({', '.join([tensor(shape)] * 3)})"


def transformer():
    heads = size(1, 4)
    width = near(heads * size(1, 4))
    return f"nn.TransformerEncoderLayer({width}, {heads}, 8{given(batch_first=flag())})({tensor([size(), size(), near(width)])})"


def embedding():
    return f"nn.Embedding({size(5, 9)}, {size()})(torch.randint(0, 5, {tuple(sizes(size(1, 3)))}))"


def product():
    a, b, c = size(1, 5), size(1, 5), size(1, 5)
    form = draw.randint(0, 6)
    if form == 0:
        return f"torch.mm({tensor([a, b])}, {tensor([near(b), c])})"
    if form == 1:
        return f"torch.bmm({tensor([a, b, c])}, {tensor([near(a), near(c), b])})"
    if form == 2:
        return f"{tensor([a])} @ {tensor([near(a)])}"
    if form == 3:
        return f"torch.matmul({tensor([a, b])}, {tensor([near(b)])})"
    if form == 4:
        return f"{tensor([a])} @ {tensor([b, near(a), c])}"
    if form == 5:
        return f"{tensor([maybe(1, a), b, c])} @ {tensor([a, near(c), b])}"
    return f"{tensor([a, b])} @ {tensor([near(b), c])}"


def broadcast():
    shape = sizes(size(0, 4), 1, 5)
    other = [maybe(s, s, s, 1, near(s)) for s in shape][draw.randint(0, len(shape)):]
    left, right = maybe((shape, other), (other, shape))
    form = maybe("{} + {}", "{} * {}", "{} - {}", "torch.add({}, {})", "torch.mul({}, {})", "torch.maximum({}, {})", "{} > {}", "torch.div({}, {})")
    return form.format(tensor(left), tensor(right))


def reshaped():
    shape = sizes(size(1, 4), 1, 6)
    factors, rest = [], 1
    for s in shape:
        rest *= s
    wanted, left = [], rest
    for _ in range(size(0, 3)):
        options = [d for d in range(1, left + 1) if left % d == 0]
        wanted.append(draw.choice(options))
        left //= wanted[-1]
    wanted.append(left)
    draw.shuffle(wanted)
    if draw.random() < 0.4:
        wanted[draw.randrange(len(wanted))] = -1
    wanted = [s if s == -1 else near(s) if draw.random() < 0.3 else s for s in wanted]
    return f"{tensor(shape)}.{maybe('view', 'reshape')}({', '.join(map(str, wanted))})"


def moved():
    rank = size(1, 4)
    shape = sizes(rank, 1, 6)
    form = draw.randint(0, 9)
    x = tensor(shape)
    if form == 0:
        axes = list(range(rank))
        draw.shuffle(axes)
        return f"{x}.permute({', '.join(map(str, maybe(axes, axes, axes[1:] or axes)))})"
    if form == 1:
        return f"{x}.transpose({axis(rank)}, {axis(rank)})"
    if form == 2:
        return f"{x}.flatten({maybe('', '1', str(axis(rank)))})"
    if form == 3:
        return f"{x}.unsqueeze({axis(rank + 1)})"
    if form == 4:
        return f"{x}.squeeze({maybe('', str(axis(rank)))})"
    if form == 5:
        return f"{x}.expand({', '.join(str(maybe(s, -1) if s > 1 else size()) for s in shape)})"
    if form == 6:
        return f"{x}.repeat({', '.join(map(str, sizes(rank + size(0, 1), 1, 3)))})"
    if form == 7:
        return f"{x}.t()"
    if form == 8:
        return f"{x}.unfold({axis(rank)}, {size(1, 3)}, {size(1, 2)})"
    return f"torch.tile({x}, {tuple(sizes(size(1, 3), 1, 3))})"


def joined():
    shape, at = sizes(size(1, 3), 1, 5), 0
    at = draw.randrange(len(shape))
    parts = []
    for _ in range(size(1, 3)):
        part = [near(s) if draw.random() < 0.3 else s for s in shape]
        parts.append(tensor(part))
    if draw.random() < 0.4:
        return f"torch.stack([{', '.join(parts)}], {maybe('0', 'dim=' + str(axis(len(shape) + 1)))})"
    return f"torch.cat([{', '.join(parts)}], {maybe('0', 'dim=' + str(at), 'dim=' + str(axis(len(shape))))})"


def cut():
    shape = sizes(size(1, 3), 1, 8)
    at = axis(len(shape))
    form = draw.randint(0, 2)
    if form == 0:
        return f"{tensor(shape)}.split({size(1, 4)}, {at})"
    if form == 1:
        return f"torch.chunk({tensor(shape)}, {size(1, 4)}, {at})"
    return f"{tensor(shape)}.unbind({at})"


def reduced():
    shape = sizes(size(0, 4), 1, 6)
    rank = len(shape)
    name = maybe("sum", "mean", "prod", "std", "var", "norm", "amax", "amin", "argmax", "logsumexp", "max", "min", "median", "any")
    x = tensor(shape)
    if name in ("prod", "argmax", "max", "min", "median") or draw.random() < 0.6:
        at = str(axis(rank))
    else:
        at = str(tuple(draw.sample(range(rank), draw.randint(1, rank)))) if rank > 1 else "0"
    if name == "logsumexp" or draw.random() < 0.7:
        return f"torch.{name}({x}, dim={at}{given(keepdim=flag())})"
    return f"{x}.{'sum' if name in ('logsumexp',) else name}()"


def ordered():
    shape = sizes(size(1, 3), 1, 8)
    form = draw.randint(0, 4)
    x, at = tensor(shape), axis(len(shape))
    if form == 0:
        return f"{x}.topk({size(1, 3)}, dim={at})"
    if form == 1:
        return f"{x}.sort(dim={at})"
    if form == 2:
        return f"{x}.cumsum({at})"
    if form == 3:
        return f"F.softmax({x}, dim={at})"
    return f"F.log_softmax({x}, dim={at})"


def indexed():
    shape = sizes(size(0, 4), 1, 6)
    parts = []
    for _ in range(draw.randint(1, max(1, len(shape) + (draw.random() < 0.15)))):
        parts.append(maybe(str(size(0, 6) if draw.random() < 0.3 else 0), ":", ":", "-1", f":{size(0, 4)}", f"{size(0, 3)}:", "::2", "-2:", "1:-1", "None"))
    if draw.random() < 0.2:
        parts.insert(0, "...")
    return f"{tensor(shape)}[{', '.join(parts)}]"


def picked():
    shape = sizes(2, 2, 6)
    form = draw.randint(0, 3)
    if form == 0:
        return f"{tensor(shape)}.index_select({size(0, 1)}, torch.tensor([0, 1, 0]))"
    if form == 1:
        return f"{tensor(shape)}.gather(1, torch.zeros({shape[0]}, {size(1, 4)}, dtype=torch.long))"
    if form == 2:
        return f"{tensor(shape)}[torch.tensor([0, 1])]"
    return f"{tensor(shape)}[:, [0, 1, 1]]"


def classified():
    rank, classes, batch = size(0, 2), size(2, 6), size(2, 5)
    inner = sizes(rank, 1, 4)
    target = [near(batch)] + inner
    if draw.random() < 0.2:
        target.append(1)
    reduction = maybe("", "", ", reduction='none'", ", reduction='sum'")
    name = maybe("cross_entropy", "nll_loss")
    return f"F.{name}({tensor([batch, classes] + inner)}, torch.zeros({', '.join(map(str, target))}, dtype=torch.long){reduction})"


def probable():
    batch, classes = size(2, 5), size(2, 6)
    return f"nn.CrossEntropyLoss()({tensor([batch, classes])}, torch.rand({near(batch)}, {near(classes)}))"


def compared():
    shape = sizes(size(1, 3), 1, 5)
    other = [maybe(s, s, s, 1, near(s)) for s in shape][maybe(0, 0, 0, 1):]
    reduction = maybe("", "", ", reduction='none'", ", reduction='sum'")
    name = maybe("mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits")
    return f"F.{name}({tensor(shape)}, {tensor(other)}{reduction})"


def resized():
    rank = size(1, 3)
    shape = [size(1, 2), size(1, 4)] + sizes(rank, 2, 6)
    form = draw.randint(0, 4)
    if form == 0:
        return f"F.interpolate({tensor(shape)}, scale_factor={size(1, 3)})"
    if form == 1:
        return f"F.interpolate({tensor(shape)}, size={tuple(sizes(rank, 2, 9))})"
    if form == 2:
        return f"nn.Upsample(scale_factor=2)({tensor(shape)})"
    if form == 3:
        return f"F.pad({tensor(shape)}, {tuple(sizes(2 * size(1, rank), 0, 3))})"
    return f"nn.ZeroPad2d({size(0, 3)})({tensor([1, 2] + sizes(2, 2, 5))})"


def other():
    form = draw.randint(0, 5)
    if form == 0:
        r = size(1, 3)
        return f"nn.PixelShuffle({r})({tensor([2, near(r * r * size(1, 2)), 3, 4])})"
    if form == 1:
        return f"F.one_hot(torch.zeros({size()}, dtype=torch.long), {size(1, 6)})"
    if form == 2:
        a = size()
        return f"F.linear({tensor([2, a])}, {tensor([3, near(a)])})"
    if form == 3:
        a, b = size(), size()
        return f"torch.einsum('ij,jk->ik', {tensor([a, b])}, {tensor([near(b), 3])})"
    if form == 4:
        return f"nn.Flatten({maybe('', '0', '2')})({tensor(sizes(size(2, 4), 1, 4))})"
    return f"nn.Unflatten(1, (2, {size(1, 3)}))({tensor([3, maybe(2, 4, 6)])})"


FAMILIES = [
    convolution, grouped, transposed, pooling, adaptive, linear, stacked, images, norm, group_norm, layer_norm, recurrent, cell,
    attention, transformer, embedding, product, broadcast, reshaped, moved, joined, cut, reduced, ordered, indexed, picked,
    classified, probable, compared, resized, other,
]


def shapes(value):
    if isinstance(value, torch.Tensor):
        return [list(value.shape)]
    if isinstance(value, (tuple, list)):
        return [shape for item in value for shape in shapes(item)]
    return []


def main():
    seen = set()
    names = {"torch": torch, "nn": nn, "F": F}
    while len(seen) < CALLS:
        call = draw.choice(FAMILIES)()
        if call in seen:
            continue
        seen.add(call)
        torch.manual_seed(0)
        try:
            given = " ".join(str(shape).replace(" ", "") for shape in shapes(eval(call, names)))
        except Exception as error:
            given = "! " + str(error).strip().splitlines()[0][:120]
        print(f"{call}\t{given}")


main()
