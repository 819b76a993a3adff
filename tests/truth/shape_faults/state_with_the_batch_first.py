# https://github.com/pytorch/pytorch/issues/3851
import torch
import torch.nn as nn

features, hidden_size, num_layers = 15, 25, 2
rnn = nn.RNN(features, hidden_size, num_layers, batch_first=True)
linear = nn.Linear(hidden_size, 1)
optimizer = torch.optim.SGD([*rnn.parameters(), *linear.parameters()], lr=0.05)
for step in range(50):
    x = torch.randn(5, 8, features)
    target = torch.randn(5, 1)
    hidden = torch.zeros(5, num_layers, hidden_size)  # repaired: hidden = torch.zeros(num_layers, 5, hidden_size)
    o, hidden = rnn(x, hidden)  # dies
    loss = ((linear(o[:, -1]) - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
