# https://github.com/Vidhiwar/multimodule-ecg-classification/issues/4
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Beats(Dataset):
    def __init__(self, n=200):
        self.signals = np.random.randn(n, 1, 1280)
        self.labels = np.random.randint(0, 6, size=(n, 10))  # repaired: self.labels = np.random.randint(0, 6, size=n)

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, index):
        return torch.tensor(self.signals[index], dtype=torch.float32), torch.tensor(self.labels[index])


class ECGNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 16, 15, stride=4), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def train(loader, model, criterion, optimizer):
    model.train()
    for inputs, targets in loader:
        outputs = model(inputs)
        loss = criterion(outputs, targets)  # dies
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    model = ECGNet(6)
    train(DataLoader(Beats(), batch_size=20, shuffle=True), model, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters()))


main()
