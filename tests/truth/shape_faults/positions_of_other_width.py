# https://github.com/dvgodoy/PyTorchStepByStep/issues/63
import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.register_buffer("pe", torch.zeros(1, max_len, d_model))

    def forward(self, x):
        encoded = x + self.pe[:, :x.size(1), :]  # dies
        return encoded


class Transformer(nn.Module):
    def __init__(self, d_model=6):
        super().__init__()
        self.proj = nn.Linear(2, 2)  # repaired: self.proj = nn.Linear(2, d_model)
        self.pe = PositionalEncoding(10, d_model)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model, 3, batch_first=True), 2)

    def forward(self, points):
        return self.encoder(self.pe(self.proj(points)))


model = Transformer()
points = torch.randn(16, 4, 2)
model(points).sum().backward()
