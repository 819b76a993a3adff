# https://github.com/nizhib/pytorch-insightface/issues/5
import torch
from torch import nn


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        channels = 3
        for width in (64, 128, 256, 512):
            layers += [nn.Conv2d(channels, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.PReLU(width)]
            channels = width
        self.body = nn.Sequential(*layers)
        self.fc = nn.Linear(512 * 7 * 7, 512)

    def forward(self, x):
        x = self.body(x)
        x = torch.flatten(x, 1)
        x = self.fc(x)  # dies
        return x


embedder = Embedder()
embedder.eval()
tensor = torch.rand(3, 480, 640)  # repaired: tensor = torch.rand(3, 112, 112)
with torch.no_grad():
    features = embedder(tensor.unsqueeze(0))[0]
print(features.shape)
