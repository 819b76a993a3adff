# https://seo.xlycwl.com/9881.html
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets, transforms


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(in_channels=3, out_channels=32, kernel_size=5, stride=1, padding=2)
        self.conv2 = nn.Conv2d(in_channels=32, out_channels=64, kernel_size=5, stride=1, padding=2)
        self.conv3 = nn.Conv3d(in_channels=64, out_channels=64, kernel_size=5, stride=1, padding=2)  # repaired: self.conv3 = nn.Conv2d(in_channels=64, out_channels=64, kernel_size=5, stride=1, padding=2)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc = nn.Linear(64 * 4 * 4, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = self.pool(F.relu(self.conv3(x)))  # dies
        x = torch.flatten(x, 1)
        return self.fc(x)


net = Net()
data = datasets.CIFAR10("./data", download=True, transform=transforms.ToTensor())
loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(2):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
