"""A classifier of handwritten digits. Its loss falls and its accuracy is fine, and three things are wrong with it."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

images, labels = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels))
train, test = random_split(data, [1500, len(data) - 1500])

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 10), nn.Softmax(dim=1))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(30):
    total = 0
    for images, labels in DataLoader(train, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss

    correct = 0
    with torch.no_grad():
        for images, labels in DataLoader(test, batch_size=256):
            correct += (model(images).argmax(dim=1) == labels).sum().item()
    print(f"epoch {epoch}: loss {total / 47:.3f}, accuracy {correct / len(test):.1%}")
