# https://github.com/melissa135/Convolutional_AutoEncoder/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets, transforms


class AutoEncoder(nn.Module):
    def __init__(self):
        super(AutoEncoder, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 5, stride=3)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=3)
        self.conv3 = nn.Conv2d(16, 32, 3)  # repaired: self.conv3 = nn.Conv2d(16, 32, 3, padding=1)
        self.decode = nn.Linear(32, 784)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))  # dies
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return torch.sigmoid(self.decode(x))


net = AutoEncoder()
data = datasets.MNIST("mnist", train=True, download=True, transform=transforms.ToTensor())
loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
optimizer = torch.optim.Adam(net.parameters())
for x, _ in loader:
    optimizer.zero_grad()
    loss = F.binary_cross_entropy(net(x), x.flatten(1))
    loss.backward()
    optimizer.step()
