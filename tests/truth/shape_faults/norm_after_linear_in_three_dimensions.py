# https://github.com/sksq96/pytorch-summary/issues/85
import torch
import torch.nn as nn
from torchsummary import summary


class Regressor(nn.Module):
    def __init__(self):
        super(Regressor, self).__init__()
        self.fc1 = nn.Linear(300, 100)
        self.bn1 = nn.BatchNorm1d(100)
        self.fc2 = nn.Linear(100, 3)

    def forward(self, x):
        x = torch.tanh(self.bn1(self.fc1(x)))  # dies
        return self.fc2(x)


net = Regressor()
summary(net, (1, 300), device="cpu")  # repaired: summary(net, (300,), device="cpu")
