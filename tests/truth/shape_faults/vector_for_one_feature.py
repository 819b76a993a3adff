# https://huggingface.co/datasets/nvidia/Nemotron-CC-Math-v1
import torch
from torch import nn


class NeuralNetwork(nn.Module):
    def __init__(self, action_size):
        super().__init__()
        self.stack = nn.Sequential(nn.Linear(1, 30), nn.ReLU(), nn.Linear(30, 30), nn.ReLU(), nn.Linear(30, action_size))  # here

    def forward(self, x):
        x = self.stack(x)  # dies
        return x


net = NeuralNetwork(5)
x1 = torch.rand(1)
print(net(x1))
x2 = torch.rand(10)  # repaired: x2 = torch.rand(10, 1)
out = net(x2)
print(out)
