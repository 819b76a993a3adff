# https://github.com/pytorch/pytorch/pull/3925
import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.trg_embedding = nn.Embedding(300, 128)
        self.encoder2decoder = nn.Linear(512, 256)
        self.decoder = nn.LSTM(128, 256, batch_first=True)
        self.out = nn.Linear(256, 300)

    def forward(self, target, context):
        state = torch.tanh(self.encoder2decoder(context))
        # repaired: state = state.unsqueeze(0)
        embedded = self.trg_embedding(target)
        output, _ = self.decoder(embedded, (state, torch.zeros_like(state)))  # dies
        return self.out(output)


decoder = Decoder()
target = torch.randint(0, 300, (64, 20))
scores = decoder(target, torch.randn(64, 512))
loss = nn.functional.cross_entropy(scores.reshape(-1, 300), target.reshape(-1))
loss.backward()
