# https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/566
import torch
import torch.nn as nn


class SkipBlock(nn.Module):
    def __init__(self, outer, inner, submodule=None):
        super().__init__()
        down = nn.Conv2d(outer, inner, 4, 2, 1)
        up = nn.ConvTranspose2d(inner * 2 if submodule else inner, outer, 4, 2, 1)
        layers = [down, nn.ReLU()] + ([submodule] if submodule else []) + [up]
        self.model = nn.Sequential(*layers)

    def forward(self, x):
        return torch.cat([x, self.model(x)], 1)  # dies


block = SkipBlock(64, 64)
block = SkipBlock(32, 64, block)
block = SkipBlock(16, 32, block)
block = SkipBlock(8, 16, block)
generator = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), block, nn.Conv2d(16, 3, 1))
optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4)
real = torch.randn(1, 3, 360, 360)  # repaired: real = torch.randn(1, 3, 256, 256)
fake = generator(real)
loss = nn.functional.l1_loss(fake, real)
optimizer.zero_grad()
loss.backward()
optimizer.step()
