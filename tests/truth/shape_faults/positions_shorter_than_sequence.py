# https://github.com/SamLynnEvans/Transformer/issues/8
import math
import torch
import torch.nn as nn


class PositionalEncoder(nn.Module):
    def __init__(self, d_model, max_seq_len=200):  # repaired: def __init__(self, d_model, max_seq_len=400):
        super().__init__()
        self.d_model = d_model
        pe = torch.zeros(max_seq_len, d_model)
        position = torch.arange(max_seq_len).unsqueeze(1).float()
        div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        x = x * math.sqrt(self.d_model)
        return x + self.pe[:, :x.size(1)]  # dies


class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.pe = PositionalEncoder(d_model)
        self.out = nn.Linear(d_model, vocab_size)

    def forward(self, src):
        return self.out(self.pe(self.embed(src)))


model = Encoder(1000, 64)
src = torch.randint(0, 1000, (8, 230))
loss = nn.functional.cross_entropy(model(src).transpose(1, 2), src)
loss.backward()
