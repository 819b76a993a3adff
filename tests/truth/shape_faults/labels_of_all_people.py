# https://github.com/hughperkins/pytorch/issues/39
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = np.random.rand(320, 784).astype("float32")
y = np.random.randint(0, 10, 320)
loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), batch_size=32)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 32, 3)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        # repaired: x = x.view(-1, 1, 28, 28)
        x = torch.relu(self.conv(x))  # dies
        return self.fc(x.mean((2, 3)))


net = CNN()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for inputs, target in loader:
    loss = nn.functional.cross_entropy(net(inputs), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
