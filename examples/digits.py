"""A classifier for MNIST that runs, and does not learn what it could: trainlint says why."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

digits = datasets.MNIST("data", download=True, transform=transforms.ToTensor())
loader = DataLoader(digits, batch_size=128, shuffle=True)

model = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def cross_entropy(scores, labels):
    targets = nn.functional.one_hot(labels, 10)
    return -(targets * torch.log(scores.softmax(dim=1))).sum(dim=1).mean()


for epoch in range(10):
    total = 0.0
    for images, labels in loader:
        loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss
    print(f"epoch {epoch}: {total / len(loader):.3f}")
