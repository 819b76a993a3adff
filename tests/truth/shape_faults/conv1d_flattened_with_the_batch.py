# https://github.com/TylerYep/torchinfo/issues/269
import torch
from torch import nn


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv1d(1, 32, 2),
            nn.ReLU(),
            nn.Conv1d(32, 64, 2),
            nn.ReLU(),
            nn.Conv1d(64, 128, 2),
            nn.ReLU(),
            nn.Flatten(start_dim=0),  # repaired: nn.Flatten(),
            nn.Linear(128 * 5, 1),  # here
        )

    def forward(self, x):
        return self.model(x)  # dies


net = Regression()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(10):
    x, y = torch.randn(2, 1, 8), torch.randn(2, 1)
    loss = loss_fn(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
