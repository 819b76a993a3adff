# https://github.com/lukemelas/EfficientNet-PyTorch/issues/173
import torch
import torch.nn as nn
from torchvision import datasets, transforms


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, stride=2)
        self.block1 = nn.Conv2d(32, 64, 5, stride=2)
        self.block2 = nn.Conv2d(64, 128, 5, stride=2)
        self.block3 = nn.Conv2d(128, 256, 5, stride=2)  # repaired: self.block3 = nn.Conv2d(128, 256, 1, stride=2)
        self.fc = nn.Linear(256, 10)

    def extract_features(self, inputs):
        x = torch.relu(self.stem(inputs))
        x = torch.relu(self.block1(x))
        x = torch.relu(self.block2(x))
        return torch.relu(self.block3(x))  # dies

    def forward(self, inputs):
        x = self.extract_features(inputs)
        return self.fc(x.mean((2, 3)))


model = Blocks()
loader = torch.utils.data.DataLoader(datasets.SVHN("svhn", transform=transforms.ToTensor(), download=True), batch_size=16)
optimizer = torch.optim.RMSprop(model.parameters())
for inputs, targets in loader:
    loss = nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
