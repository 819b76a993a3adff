# https://github.com/geifmany/cifar-vgg/issues/9
import torch
import torch.nn as nn
from torchvision import datasets, transforms


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3), nn.ReLU(), nn.Conv2d(o, o, 3), nn.ReLU(), nn.MaxPool2d(2))  # here


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b1, self.b2 = block(3, 64), block(64, 128)
        self.b3 = block(128, 256)  # repaired: self.b3 = nn.Sequential(nn.Conv2d(128, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(5))
        self.fc = nn.Linear(256, 10)

    def forward(self, x):
        x = self.b3(self.b2(self.b1(x)))  # dies
        return self.fc(x.flatten(1))


net = Net()
data = datasets.CIFAR10(".", download=True, transform=transforms.ToTensor())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data, 128, shuffle=True):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
