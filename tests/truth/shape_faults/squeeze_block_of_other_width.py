# https://github.com/moskomule/senet.pytorch/issues/35
import torch
import torch.nn as nn


class SELayer(nn.Module):
    def __init__(self, channel, reduction=16):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(
            nn.Linear(channel, channel // reduction, bias=False),  # here
            nn.ReLU(inplace=True),
            nn.Linear(channel // reduction, channel, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        b, c, _, _ = x.size()
        y = self.avg_pool(x).view(b, c)
        y = self.fc(y).view(b, c, 1, 1)  # dies
        return x * y


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inplanes, planes):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.conv3 = nn.Conv2d(planes, planes * self.expansion, 1, bias=False)
        self.se = SELayer(planes)  # repaired: self.se = SELayer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.relu(self.conv1(x))
        out = self.relu(self.conv2(out))
        out = self.conv3(out)
        out = self.se(out)
        return self.relu(out + x)


net = nn.Sequential(nn.Conv2d(3, 256, 7, stride=4), Bottleneck(256, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(3):
    out = net(torch.randn(2, 3, 64, 64))
    loss = nn.functional.cross_entropy(out, torch.randint(0, 10, (2,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
