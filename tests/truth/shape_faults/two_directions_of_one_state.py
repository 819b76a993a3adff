# https://github.com/ngarneau/understanding-pytorch-batching-lstm/issues/1
import torch
from torch import nn


class BieberLSTM(nn.Module):
    def __init__(self, nb_layers, nb_lstm_units=32, embedding_dim=3, batch_size=3):
        super().__init__()
        self.nb_layers = nb_layers
        self.nb_lstm_units = nb_lstm_units
        self.batch_size = batch_size
        self.word_embedding = nn.Embedding(50, embedding_dim, padding_idx=0)
        self.lstm = nn.LSTM(embedding_dim, nb_lstm_units, batch_first=True)  # repaired: self.lstm = nn.LSTM(embedding_dim, nb_lstm_units, num_layers=nb_layers, batch_first=True)
        self.hidden_to_tag = nn.Linear(nb_lstm_units, 9)

    def init_hidden(self):
        a = torch.randn(self.nb_layers, self.batch_size, self.nb_lstm_units)
        b = torch.randn(self.nb_layers, self.batch_size, self.nb_lstm_units)
        return a, b

    def forward(self, X):
        self.hidden = self.init_hidden()
        X = self.word_embedding(X)
        X, self.hidden = self.lstm(X, self.hidden)  # dies
        return self.hidden_to_tag(X)


model = BieberLSTM(nb_layers=2)
X = torch.randint(1, 50, (3, 10))
Y = torch.randint(0, 9, (3, 10))
loss = nn.functional.cross_entropy(model(X).view(-1, 9), Y.view(-1))
loss.backward()
