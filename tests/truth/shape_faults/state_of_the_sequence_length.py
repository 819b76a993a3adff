# https://github.com/pytorch/pytorch/issues/2674
import torch
import torch.nn as nn

MAXFEATURES, EMBEDSIZE, NUMHIDDEN, BATCHSIZE = 2000, 125, 100, 64


class SymbolModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(MAXFEATURES, EMBEDSIZE)
        self.gru = nn.GRU(input_size=EMBEDSIZE, hidden_size=NUMHIDDEN, batch_first=True)
        self.l_out = nn.Linear(NUMHIDDEN, 2)

    def forward(self, x):
        embeds = self.embedding(x)
        h0 = torch.zeros(1, embeds.size(1), NUMHIDDEN)  # repaired: h0 = torch.zeros(1, embeds.size(0), NUMHIDDEN)
        gru_out, h = self.gru(embeds, h0)  # dies
        return self.l_out(gru_out[:, -1, :])


model = SymbolModule()
optimizer = torch.optim.Adam(model.parameters())
for j in range(3):
    data = torch.randint(0, MAXFEATURES, (BATCHSIZE, 150))
    label = torch.randint(0, 2, (BATCHSIZE,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(data), label)
    loss.backward()
    optimizer.step()
