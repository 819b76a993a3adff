# https://github.com/miyamotok0105/pytorch_handbook/issues/11
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 32
text = torch.randint(0, 100, (320, 50))
labels = torch.randint(0, 2, (320,))
train_loader = DataLoader(TensorDataset(text, labels), batch_size=8, shuffle=True)  # repaired: train_loader = DataLoader(TensorDataset(text, labels), batch_size=BATCH_SIZE, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.lstm = nn.LSTM(64, 256, batch_first=True)
        self.fc = nn.Linear(256, 2)

    def forward(self, x):
        h = torch.zeros(1, BATCH_SIZE, 256)
        c = torch.zeros(1, BATCH_SIZE, 256)
        out, _ = self.lstm(self.embed(x), (h, c))  # dies
        return self.fc(out[:, -1])


net = Net()
criterion = nn.CrossEntropyLoss()
optim = torch.optim.Adam(net.parameters())
for epoch in range(2):
    for text, labels in train_loader:
        optim.zero_grad()
        outputs = net(text)
        loss = criterion(outputs, labels)
        loss.backward()
        optim.step()
