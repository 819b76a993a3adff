# https://github.com/Beckschen/TransUNet/issues/74
import torch
import torch.nn as nn


class DecoderBlock(nn.Module):
    def __init__(self, in_channels, out_channels, skip_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels + skip_channels, out_channels, 3, padding=1)
        self.up = nn.UpsamplingBilinear2d(scale_factor=2)

    def forward(self, x, skip):
        x = self.up(x)
        x = torch.cat([x, skip], dim=1)  # dies
        return torch.relu(self.conv(x))


class Segmenter(nn.Module):
    def __init__(self, grid):
        super().__init__()
        self.grid = grid
        self.stem = nn.Conv2d(3, 64, 8, stride=8)
        self.patches = nn.Conv2d(64, 128, 4, stride=4)  # repaired: self.patches = nn.Conv2d(64, 128, 2, stride=2)
        self.decoder = DecoderBlock(128, 64, 64)
        self.head = nn.Conv2d(64, 9, 1)

    def forward(self, x):
        skip = self.stem(x)
        x = self.patches(skip)
        x = self.decoder(x, skip)
        return self.head(x)


net = Segmenter((16, 16))
image = torch.randn(2, 3, 512, 512)
label = torch.randint(0, 9, (2, 64, 64))
loss = nn.CrossEntropyLoss()(net(image), label)
loss.backward()
