# https://huggingface.co/datasets/nvidia/Nemotron-CC-Math-v1
import torch
import torch.nn.functional as F

x = torch.rand(64, 784)
y = torch.randint(0, 10, (64,))
weights = torch.randn(10, 784, requires_grad=True)
bias = torch.zeros(10, requires_grad=True)
lr = 0.01
for epoch in range(100):
    logits = x @ weights + bias  # dies  # repaired: logits = x @ weights.t() + bias
    loss = F.cross_entropy(logits, y)
    loss.backward()
    with torch.no_grad():
        weights -= lr * weights.grad
        bias -= lr * bias.grad
        weights.grad.zero_()
        bias.grad.zero_()
