# https://github.com/DingKe/pytorch_workplace/issues/6
import torch
import torch.nn as nn


class GRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.x2h = nn.Linear(input_size, 3 * hidden_size)
        self.h2h = nn.Linear(hidden_size, 2 * hidden_size)  # repaired: self.h2h = nn.Linear(hidden_size, 3 * hidden_size)

    def forward(self, x, hidden):
        gates = self.x2h(x) + self.h2h(hidden)  # dies
        reset, update, new = gates.chunk(3, -1)
        new = torch.tanh(new * torch.sigmoid(reset))
        update = torch.sigmoid(update)
        return (1 - update) * new + update * hidden


cell = GRUCell(100, 256)
hidden = torch.zeros(2, 256)
for x in torch.randn(7, 2, 100):
    hidden = cell(x, hidden)
hidden.mean().backward()
