# https://github.com/ashutosh1807/PixelFormer/issues/18
import torch
import torch.nn as nn


class Attend(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)

    def forward(self, q, v, H, W):
        B, N, C = v.shape
        v = self.v(v)
        v = v.view(B, H, W, C)  # dies
        return v + self.q(q).view(B, H, W, C)


block = Attend(64)
feature = torch.randn(4, 64, 33, 33)
B, C, H, W = feature.shape
tokens = feature.flatten(2).transpose(1, 2)
H = W = 34  # repaired: H = W = 33
out = block(tokens, tokens, H, W)
out.mean().backward()
