# https://github.com/kanezaki/pytorch-rotationnet/issues/9
import torch
import torch.nn as nn

nview, num_classes = 12, 40
model = nn.Linear(256, (num_classes + 1) * nview)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(10):
    input = torch.randn(35, 256)  # repaired: input = torch.randn(36, 256)
    output = model(input)
    output = output.view(-1, num_classes + 1)
    output = output.view(-1, nview * nview, num_classes + 1)  # dies
    loss = nn.functional.cross_entropy(output.transpose(1, 2), torch.zeros(output.size(0), nview * nview, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
