# https://github.com/nusnlp/PtrNetDecoding4JERE/issues/10
import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self, vocab=800, width=128):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.encoder = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, x):
        h, _ = self.encoder(self.embedding(x))
        return self.out(h.reshape(-1, 128)).log_softmax(-1)


model = Tagger()
criterion = nn.NLLLoss(ignore_index=0)
optimizer = torch.optim.Adam(model.parameters())
for i in range(10):
    src, target = torch.randint(1, 800, (32, 25)), torch.randint(1, 800, (32, 25))
    outputs = model(src)
    loss = criterion(outputs, target)  # dies  # repaired: loss = criterion(outputs, target.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
