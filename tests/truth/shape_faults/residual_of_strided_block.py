# https://github.com/yl4579/StyleTTS2/issues/208
import torch
import torch.nn as nn
import torch.nn.functional as F


class ResBlk(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.conv1 = nn.Conv2d(dim_in, dim_in, 3, 1, 1)
        self.pool = nn.Conv2d(dim_in, dim_in, 3, 2, 1)  # repaired: self.pool = nn.AvgPool2d(2)
        self.conv2 = nn.Conv2d(dim_in, dim_out, 3, 1, 1)
        self.conv1x1 = nn.Conv2d(dim_in, dim_out, 1, 1, 0, bias=False)

    def _shortcut(self, x):
        return F.avg_pool2d(self.conv1x1(x), 2)

    def _residual(self, x):
        x = self.pool(self.conv1(F.leaky_relu(x, 0.2)))
        return self.conv2(F.leaky_relu(x, 0.2))

    def forward(self, x):
        return self._shortcut(x) + self._residual(x)  # dies


class StyleEncoder(nn.Module):
    def __init__(self, style_dim=48):
        super().__init__()
        self.shared = nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1), ResBlk(16, 32), ResBlk(32, 64), nn.AdaptiveAvgPool2d(1))
        self.unshared = nn.Linear(64, style_dim)

    def forward(self, x):
        h = self.shared(x)
        return self.unshared(h.view(h.size(0), -1))


model = StyleEncoder()
mel = torch.randn(4, 1, 80, 69)
style = model(mel)
style.norm().backward()
