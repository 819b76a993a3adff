# https://github.com/pytorch/pytorch/issues/5860
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

series = torch.sin(torch.arange(0, 220) * 0.1)
windows = torch.stack([series[i:i + 20] for i in range(200)])
targets = torch.stack([series[i + 20] for i in range(200)])
loader = DataLoader(TensorDataset(windows, targets), batch_size=10, shuffle=True)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=50, batch_first=True)
        self.linear = nn.Linear(50, 1)

    def forward(self, x):
        out, _ = self.lstm(x)  # dies  # repaired: out, _ = self.lstm(x.unsqueeze(-1))
        return self.linear(out[:, -1])


model = Forecast()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
for epoch in range(5):
    for seq, label in loader:
        optimizer.zero_grad()
        y_pred = model(seq)
        loss = loss_fn(y_pred.squeeze(-1), label)
        loss.backward()
        optimizer.step()
