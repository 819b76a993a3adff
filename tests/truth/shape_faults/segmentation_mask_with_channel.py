# https://github.com/pytorch/pytorch/issues/3670
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

images = torch.randn(24, 3, 64, 64)
masks = torch.randint(0, 7, (24, 1, 64, 64))
loader = DataLoader(TensorDataset(images, masks), batch_size=8)
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 7, 1))
criterion = nn.CrossEntropyLoss(reduction="sum")
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(3):
    for x, labels in loader:
        y_pred = net(x)
        loss = criterion(y_pred, labels)  # dies  # repaired: loss = criterion(y_pred, labels.squeeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
