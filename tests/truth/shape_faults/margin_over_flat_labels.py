# https://github.com/Joyako/SphereFace-pytorch/issues/3
import torch
import torch.nn as nn


class AngleLoss(nn.Module):
    def forward(self, scores, target):
        index = scores.data * 0.0
        index.scatter_(1, target.data.view(-1, 1), 1)  # dies
        index = index.bool()
        return -scores[index].mean()


features = nn.Linear(512, 10)
criterion = AngleLoss()
optimizer = torch.optim.SGD(features.parameters(), lr=0.1)
x, labels = torch.randn(32, 512), torch.randint(0, 10, (32,))
scores = features(x)
scores = scores.view(-1)  # repaired:
loss = criterion(scores, labels)
optimizer.zero_grad()
loss.backward()
optimizer.step()
