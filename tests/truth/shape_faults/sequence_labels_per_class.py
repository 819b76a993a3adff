# https://github.com/jbohnslav/deepethogram/issues/98
import torch
import torch.nn as nn


class TGM(nn.Module):
    def __init__(self, D=512, num_classes=9):
        super().__init__()
        self.conv = nn.Conv1d(D, 64, 15, padding=7)
        self.out = nn.Conv1d(64, num_classes, 1)

    def forward(self, x):
        return self.out(torch.relu(self.conv(x)))


model = TGM()
criterion = nn.NLLLoss()  # repaired: criterion = nn.BCEWithLogitsLoss()
features = torch.randn(16, 512, 180)
labels = torch.randint(0, 2, (16, 9, 180))  # repaired: labels = torch.randint(0, 2, (16, 9, 180)).float()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(5):
    outputs = model(features)
    loss = criterion(outputs, labels)  # dies
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
