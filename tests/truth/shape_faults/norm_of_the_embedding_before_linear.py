# https://github.com/Namkyeong/BGRL_Pytorch/issues/1
import torch
import torch.nn as nn


class Predictor(nn.Module):
    def __init__(self, rep_dim=256, hidden=512):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(rep_dim, hidden),
            nn.BatchNorm1d(rep_dim),  # repaired: nn.BatchNorm1d(hidden),
            nn.PReLU(),
            nn.Linear(hidden, rep_dim),
        )

    def forward(self, x):
        return self.net(x)  # dies


student, predictor = nn.Linear(1433, 256), Predictor()
optimizer = torch.optim.AdamW(list(student.parameters()) + list(predictor.parameters()), lr=1e-4)
features = torch.rand(2708, 1433)
for epoch in range(100):
    h = student(features)
    loss = nn.functional.mse_loss(predictor(h), h.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
