# https://github.com/wbw520/scouter/issues/10
import torch
import torch.nn as nn


class SlotModel(nn.Module):
    def __init__(self, channel=128, feature_size=9):  # repaired: def __init__(self, channel=128, feature_size=14):
        super().__init__()
        self.channel = channel
        self.feature_size = feature_size
        self.backbone = nn.Sequential(nn.Conv2d(3, 64, 4, stride=4), nn.ReLU(), nn.Conv2d(64, channel, 4, stride=4), nn.ReLU())
        self.conv1x1 = nn.Conv2d(channel, 64, 1)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.backbone(x)
        x = self.conv1x1(x.view(x.size(0), self.channel, self.feature_size, self.feature_size))  # dies
        return self.head(x.mean(dim=(2, 3)))


def main():
    model = SlotModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(10):
        images = torch.randn(32, 3, 224, 224)
        targets = torch.randint(0, 10, (32,))
        loss = nn.functional.cross_entropy(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
