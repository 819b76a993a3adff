# https://github.com/ptrblck/pytorch_misc/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F


class Down(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1)

    def forward(self, x):
        return F.max_pool2d(F.relu(self.conv(x)), 2)


class Up(nn.Module):
    def __init__(self, i, skip, o):
        super().__init__()
        self.up = nn.ConvTranspose2d(i, o, 2, stride=2)
        self.conv = nn.Conv2d(o + skip, o, 3, padding=1)

    def forward(self, x, skip):
        x = self.up(x)
        x = torch.cat((x, skip), dim=1)  # dies
        return F.relu(self.conv(x))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.down3 = Down(3, 16), Down(16, 32), Down(32, 64)
        self.up3, self.up2 = Up(64, 32, 32), Up(32, 16, 16)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        x1 = self.down1(x)
        x2 = self.down2(x1)
        x3 = self.down3(x2)
        x_up = self.up3(x3, x2)
        x_up = self.up2(x_up, x1)
        return F.log_softmax(self.out(x_up), 1)


unet = UNet()
inputs = torch.randn(1, 3, 222, 222)  # repaired: inputs = torch.randn(1, 3, 224, 224)
outputs = unet(inputs)
print(outputs.shape)
