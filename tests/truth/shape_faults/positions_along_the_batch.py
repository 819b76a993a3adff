# https://github.com/gangweix/Stoch-predict-with-Tranformer-LSTM/issues/3
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        self.register_buffer("pe", pe.unsqueeze(1))

    def forward(self, x):
        return x + self.pe  # dies  # repaired: return x + self.pe[:x.size(1)].transpose(0, 1)


class TransAm(nn.Module):
    def __init__(self, feature_size=64):
        super().__init__()
        self.proj = nn.Linear(8, feature_size)
        self.pos_encoder = PositionalEncoding(feature_size)
        self.encoder = nn.TransformerEncoderLayer(feature_size, nhead=4, batch_first=True)
        self.decoder = nn.Linear(feature_size, 1)

    def forward(self, src):
        src = self.pos_encoder(self.proj(src))
        return self.decoder(self.encoder(src)[:, -1])


loader = DataLoader(TensorDataset(torch.randn(640, 20, 8), torch.randn(640, 1)), batch_size=64, drop_last=True)
model = TransAm()
optimizer = torch.optim.AdamW(model.parameters())
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
