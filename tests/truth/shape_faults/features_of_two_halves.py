# https://github.com/ekosman/AnomalyDetectionCVPR2018-Pytorch/issues/230
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class FeaturesLoader(Dataset):
    def __init__(self, n=60):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return torch.rand(32, 2048), torch.tensor(float(index % 2))


class AnomalyDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4096, 512)  # repaired: self.fc1 = nn.Linear(2048, 512)
        self.relu1 = nn.ReLU()
        self.dropout1 = nn.Dropout(0.6)
        self.fc2 = nn.Linear(512, 32)
        self.fc3 = nn.Linear(32, 1)

    def forward(self, x):
        x = self.dropout1(self.relu1(self.fc1(x)))  # dies
        x = self.fc2(x)
        return torch.sigmoid(self.fc3(x))


def main():
    model = AnomalyDetector()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.01)
    for features, labels in DataLoader(FeaturesLoader(), batch_size=60):
        outputs = model(features)
        scores = outputs.max(dim=1)[0].squeeze(1)
        loss = nn.functional.binary_cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
