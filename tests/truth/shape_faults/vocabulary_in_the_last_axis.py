# https://github.com/markhliu/DGAI/issues/7
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

vocab_size = 500


class WordLSTM(nn.Module):
    def __init__(self, input_size=128, n_embed=128, n_layers=2):
        super().__init__()
        self.n_layers = n_layers
        self.embedding = nn.Embedding(vocab_size, n_embed)
        self.lstm = nn.LSTM(input_size=input_size, hidden_size=n_embed, num_layers=n_layers, batch_first=True)
        self.fc = nn.Linear(input_size, vocab_size)

    def forward(self, x, hc):
        embed = self.embedding(x)
        x, hc = self.lstm(embed, hc)
        x = self.fc(x)
        return x, hc

    def init_hidden(self, n_seqs):
        weight = next(self.parameters()).data
        return (weight.new(self.n_layers, n_seqs, 128).zero_(), weight.new(self.n_layers, n_seqs, 128).zero_())


text = torch.randint(0, vocab_size, (320, 101))
loader = DataLoader(TensorDataset(text[:, :-1], text[:, 1:]), batch_size=32, shuffle=True)
model = WordLSTM()
optimizer = torch.optim.Adam(model.parameters(), lr=0.0001)
loss_func = nn.CrossEntropyLoss()
model.train()
for epoch in range(2):
    sh, sc = model.init_hidden(32)
    for inputs, targets in loader:
        optimizer.zero_grad()
        output, (sh, sc) = model(inputs, (sh, sc))
        loss = loss_func(output, targets)  # dies  # repaired: loss = loss_func(output.transpose(1, 2), targets)
        sh, sc = sh.detach(), sc.detach()
        loss.backward()
        optimizer.step()
