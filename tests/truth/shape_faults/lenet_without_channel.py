# https://github.com/pytorch/pytorch/issues/11762
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x):
        out = self.conv1(x)  # dies
        out = F.max_pool2d(F.relu(out), 2)
        out = F.max_pool2d(F.relu(self.conv2(out)), 2)
        out = out.view(out.size(0), -1)
        return self.fc2(F.relu(self.fc1(out)))


x_train = torch.rand(640, 32, 32)  # repaired: x_train = torch.rand(640, 1, 32, 32)
y_train = torch.randint(0, 10, (640,))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(10):
    for i in range(0, 640, 64):
        batch_x, batch_y = x_train[i:i + 64], y_train[i:i + 64]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch_x), batch_y)
        loss.backward()
        optimizer.step()
