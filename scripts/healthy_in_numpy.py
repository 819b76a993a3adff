"""What the training of `examples/healthy.py` comes to, with and without its mistakes, written out in NumPy.

Needs numpy and scikit-learn, and no framework: python3 scripts/healthy_in_numpy.py
"""

import numpy as np
from sklearn.datasets import load_digits

EPOCHS, BATCH, SEEDS = 30, 32, 5
IMAGES, LABELS = load_digits(return_X_y=True)
IMAGES = IMAGES / 16


def softmax(logits):
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def dropout(rng, shape):
    return (rng.random(shape) < 0.5) * 2.0


def adam(parameters, gradients, means, squares, step):
    for weight, gradient, mean, square in zip(parameters, gradients, means, squares):
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        weight -= 1e-3 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)


def loss_and_gradients(parameters, images, labels, mask, twice):
    """Of the mean cross-entropy; `twice` where the model has a softmax of its own."""
    w1, b1, w2, b2 = parameters
    hidden = images @ w1 + b1
    kept = np.maximum(hidden, 0) * mask
    once = softmax(kept @ w2 + b2)
    given = softmax(once) if twice else once
    rows = np.arange(len(labels))
    loss = -np.log(given[rows, labels]).mean()
    slope = given.copy()
    slope[rows, labels] -= 1
    slope /= len(labels)
    if twice:
        slope = once * (slope - (slope * once).sum(axis=1, keepdims=True))
    back = (slope @ w2.T) * mask * (hidden > 0)
    return loss, [images.T @ back, back.sum(axis=0), kept.T @ slope, slope.sum(axis=0)]


def train(seed, twice, drops_in_evaluation):
    """The loss of each epoch, and the accuracy after it."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(IMAGES))
    training, test = order[:1500], order[1500:]
    bound = 1 / np.sqrt(64)
    parameters = [rng.uniform(-bound, bound, shape) for shape in [(64, 64), 64, (64, 10), 10]]
    means, squares = ([np.zeros_like(one) for one in parameters] for _ in range(2))
    step, told = 0, []
    for _ in range(EPOCHS):
        losses = []
        for batch in np.split(rng.permutation(training), range(BATCH, 1500, BATCH)):
            images, labels = IMAGES[batch], LABELS[batch]
            mask = dropout(rng, (len(batch), 64))
            loss, gradients = loss_and_gradients(parameters, images, labels, mask, twice)
            step += 1
            adam(parameters, gradients, means, squares, step)
            losses.append(loss)
        hidden = np.maximum(IMAGES[test] @ parameters[0] + parameters[1], 0)
        if drops_in_evaluation:
            hidden *= dropout(rng, hidden.shape)
        answers = (hidden @ parameters[2] + parameters[3]).argmax(axis=1)
        told.append((np.mean(losses), (answers == LABELS[test]).mean()))
    return np.array(told)


for name, twice, drops in [
    ("as it is", True, True),
    ("with model.eval()", True, False),
    ("with model.eval() and one softmax", False, False),
]:
    mean = np.mean([train(seed, twice, drops) for seed in range(SEEDS)], axis=0)
    for epoch in (0, EPOCHS - 1):
        print(f"{name}, epoch {epoch}: loss {mean[epoch, 0]:.3f}, accuracy {mean[epoch, 1]:.1%}")
