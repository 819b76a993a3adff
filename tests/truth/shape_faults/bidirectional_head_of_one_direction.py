# https://github.com/udacity/deep-learning-v2-pytorch/issues/153
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

train_data = TensorDataset(torch.randint(0, 3000, (400, 200)), torch.randint(0, 2, (400,)).float())
train_loader = DataLoader(train_data, shuffle=True, batch_size=50)


class SentimentRNN(nn.Module):
    def __init__(self, vocab_size, output_size, embedding_dim, hidden_dim, n_layers):
        super(SentimentRNN, self).__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, n_layers, dropout=0.5, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(hidden_dim, output_size)  # repaired: self.fc = nn.Linear(2 * hidden_dim, output_size)
        self.sig = nn.Sigmoid()

    def forward(self, x):
        lstm_out, hidden = self.lstm(self.embedding(x))
        out = self.dropout(lstm_out[:, -1])
        return self.sig(self.fc(out))  # dies


net = SentimentRNN(3000, 1, 400, 256, 2)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
for e in range(4):
    for inputs, labels in train_loader:
        net.zero_grad()
        output = net(inputs)
        loss = criterion(output.squeeze(), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5)
        optimizer.step()
