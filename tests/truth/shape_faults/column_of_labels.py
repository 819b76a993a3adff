# https://github.com/pytorch/pytorch/issues/56542
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

X = np.random.randn(500, 20).astype(np.float32)
y = np.random.randint(0, 3, (500, 1))
data = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
loader = DataLoader(data, batch_size=50, shuffle=True)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(10):
    for xb, yb in loader:
        opt.zero_grad()
        loss = loss_fn(net(xb), yb.long())  # dies  # repaired: loss = loss_fn(net(xb), yb.long().squeeze(1))
        loss.backward()
        opt.step()
