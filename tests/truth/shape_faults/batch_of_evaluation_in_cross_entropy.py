# https://github.com/rentruewang/aioway/issues/13
import torch
from torch import nn

batch = 20


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(nn.Linear(28 * 28, 512), nn.ReLU(), nn.Linear(512, 10), nn.ReLU())

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


model = Model()
loss_fn = nn.CrossEntropyLoss()
input = torch.randn(16, 28, 28)  # repaired: input = torch.randn(batch, 28, 28)
label = torch.randn(batch, 10).argmax(1)
output = model(input)
loss = loss_fn(output, label)  # dies
loss.backward()
