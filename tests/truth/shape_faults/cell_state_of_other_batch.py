# https://github.com/PetrochukM/PyTorch-NLP/issues/62
import torch
from torch import nn

lstm = nn.LSTMCell(256, 512)
head = nn.Linear(512, 10)
hx, cx = torch.zeros(1, 512), torch.zeros(1, 512)  # repaired: hx, cx = torch.zeros(4, 512), torch.zeros(4, 512)
optimizer = torch.optim.SGD(lstm.parameters(), lr=0.1)
sequence = torch.randn(12, 4, 256)
for step in sequence:
    hx, cx = lstm(step, (hx, cx))  # dies
loss = head(hx).sum()
loss.backward()
optimizer.step()
