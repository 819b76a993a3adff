# https://github.com/pytorch/pytorch/issues/139031
import torch
import torch.nn as nn


class MultiInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 32))
        self.sec = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 3))  # repaired: self.sec = nn.Sequential(nn.Linear(96, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, input1, input2, input3):
        c1 = self.cnn(input1)
        c2 = self.cnn(input2)
        c3 = self.cnn(input3)
        combined = torch.cat((c1, c2, c3), 0)  # repaired: combined = torch.cat((c1, c2, c3), 1)
        return self.sec(combined)


model = MultiInputs()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    X1, X2, X3 = torch.rand(10, 1, 28, 28), torch.rand(10, 1, 28, 28), torch.rand(10, 1, 28, 28)
    y = torch.randint(0, 3, (10,))
    y_pred = model(X1, X2, X3)
    loss = loss_fn(y_pred, y)  # dies
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
