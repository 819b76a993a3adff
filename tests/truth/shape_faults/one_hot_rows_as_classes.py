# https://github.com/pytorch/pytorch/issues/1258
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 253))
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(100):
    plates = torch.randn(4, 128)
    targets = torch.zeros(4, 253, dtype=torch.long)
    targets[:, 0] = 1
    output = torch.log_softmax(model(plates), dim=1)
    loss = criterion(output, targets)  # dies  # repaired: loss = criterion(output, targets.argmax(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
