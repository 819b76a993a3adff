# https://github.com/fmu2/PyTorch-MAML/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F


def block(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


class ConvNet(nn.Module):
    def __init__(self, ways):
        super().__init__()
        self.encoder = nn.Sequential(block(3, 32), block(32, 32), block(32, 32), block(32, 32))
        self.classifier = nn.Linear(800, ways)  # repaired: self.classifier = nn.Linear(6272, ways)

    def forward(self, x):
        x = self.encoder(x)
        return self.classifier(x.flatten(1))  # dies


def main():
    model = ConvNet(5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for episode in range(10):
        support = torch.randn(25, 3, 224, 224)
        labels = torch.arange(5).repeat(5)
        loss = F.cross_entropy(model(support), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
