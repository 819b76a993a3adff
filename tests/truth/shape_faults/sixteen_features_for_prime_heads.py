# https://github.com/Exploration-Lab/COGMEN/issues/5
import torch
import torch.nn as nn


class SeqContext(nn.Module):
    def __init__(self, u_dim, g_dim, nhead):
        super().__init__()
        layer = nn.TransformerEncoderLayer(d_model=u_dim, nhead=nhead, dropout=0.1)  # dies
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.out = nn.Linear(u_dim, g_dim)

    def forward(self, utterances):
        return self.out(self.encoder(utterances))


def main():
    model = SeqContext(u_dim=883, g_dim=100, nhead=14)  # repaired: model = SeqContext(u_dim=896, g_dim=100, nhead=14)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(20, 4, 896)
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()


main()
