# https://viralsfire.com/post/pytorch-conv1d-on-simple-1d-for-signal-the-size-of-tensor-a
import torch
import torch.nn as nn

signal = torch.randn(16, 1, 100)
target = torch.randn(16, 1, 100)


class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, kernel_size=5, padding=2)
        self.out = nn.Conv1d(8, 1, kernel_size=5)  # repaired: self.out = nn.Conv1d(8, 1, kernel_size=5, padding=2)

    def forward(self, x):
        return x + self.out(torch.relu(self.conv(x)))  # dies


net = Filter()
optimizer = torch.optim.Adam(net.parameters())
for i in range(100):
    loss = ((net(signal) - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
