# https://github.com/magic282/SEASS/issues/11
import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self, vocabulary, width, maxout=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 300)
        self.rnn = nn.GRU(300, width, batch_first=True)
        self.readout = nn.Linear(width, width)

    def forward(self, tokens):
        states, hidden = self.rnn(self.embedding(tokens))
        return self.readout(states), hidden


vocabulary, width = 1000, 512
decoder = Decoder(vocabulary, width)
generator = nn.Sequential(nn.Linear(width // 2, vocabulary), nn.LogSoftmax(dim=-1))  # repaired: generator = nn.Sequential(nn.Linear(width, vocabulary), nn.LogSoftmax(dim=-1))
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(list(decoder.parameters()) + list(generator.parameters()))
for step in range(20):
    tokens = torch.randint(0, vocabulary, (64, 12))
    states, _ = decoder(tokens[:, :-1])
    scores = generator(states.reshape(-1, width))  # dies
    loss = criterion(scores, tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
