# https://github.com/thuml/Transfer-Learning-Library/issues/52
import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 64, 7, 4, 3), nn.ReLU(), nn.MaxPool2d(8))
        self.head = nn.Linear(64, num_classes)

    def forward(self, x):
        f = self.backbone(x)
        f = f.permute(0, 2, 3, 1).reshape(-1, 64)  # repaired: f = f.mean((2, 3))
        return self.head(f)


model = Classifier(31)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, nesterov=True, momentum=0.9)
for i in range(3):
    x_s, labels_s = torch.randn(32, 3, 224, 224), torch.randint(0, 31, (32,))
    y_s = model(x_s)
    cls_loss = F.cross_entropy(y_s, labels_s)  # dies
    optimizer.zero_grad()
    cls_loss.backward()
    optimizer.step()
