# https://github.com/purbayankar/HybridSN-pytorch/issues/3
import torch
import torch.nn as nn


class HybridSN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv3d(1, 8, (7, 3, 3)), nn.ReLU())
        self.conv2 = nn.Sequential(nn.Conv3d(8, 16, (5, 3, 3)), nn.ReLU())
        self.conv4 = nn.Sequential(nn.Conv2d(16 * 5, 64, 3), nn.ReLU())
        self.dense = nn.Linear(18496, 16)  # repaired: self.dense = nn.Linear(64 * 5 * 5, 16)

    def forward(self, x):
        x = self.conv2(self.conv1(x))
        x = x.reshape(x.shape[0], -1, x.shape[3], x.shape[4])
        x = self.conv4(x)
        x = x.view(x.size(0), -1)
        return self.dense(x)  # dies


net = HybridSN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
for epoch in range(2):
    inputs, labels = torch.randn(2, 1, 15, 11, 11), torch.randint(0, 16, (2,))
    loss = criterion(net(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
