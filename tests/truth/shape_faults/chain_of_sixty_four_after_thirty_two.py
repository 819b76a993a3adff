# https://www.iiask.com/34l58747.html
import torch
import torch.nn as nn


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(64, 64, 3)  # repaired: self.conv2 = nn.Conv2d(32, 64, 3)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))  # dies
        return self.fc(self.pool(x).flatten(1))


def train(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


train(SmallNet(), [(torch.randn(16, 1, 28, 28), torch.randint(0, 10, (16,))) for _ in range(4)], 2)
