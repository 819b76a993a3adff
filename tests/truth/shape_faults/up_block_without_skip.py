# https://devgem.io/posts/how-to-fix-channel-mismatch-errors-in-u-net-architecture-in-pytorch
import torch
import torch.nn as nn


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1 = self.double_conv(3, 64)
        self.enc2 = self.double_conv(64, 128)
        self.bottom = self.double_conv(128, 256)
        self.pool = nn.MaxPool2d(2)
        self.dec2 = self.up(256, 128)
        self.dec1 = self.up(128, 64)
        self.final = nn.Conv2d(64, 1, 1)

    def double_conv(self, in_channels, out_channels):
        return nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1),  # here
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1),
            nn.ReLU(inplace=True),
        )

    def up(self, in_channels, out_channels):
        return nn.Sequential(
            nn.ConvTranspose2d(in_channels, out_channels, kernel_size=2, stride=2),
            self.double_conv(in_channels, out_channels),  # repaired: self.double_conv(out_channels, out_channels),
        )

    def forward(self, x):
        x1 = self.enc1(x)
        x2 = self.enc2(self.pool(x1))
        x3 = self.bottom(self.pool(x2))
        x = self.dec2(x3)  # dies
        x = self.dec1(x)
        return self.final(x)


model = UNet()
x = torch.randn(1, 3, 64, 64)
print(model(x).shape)
