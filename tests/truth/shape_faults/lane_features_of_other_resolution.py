# https://github.com/fabvio/ld-lsi/issues/10
import torch
import torch.nn as nn
from torchvision import transforms
from torch.utils.data import DataLoader, Dataset
from PIL import Image


class Lanes(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.transform = transforms.Compose([transforms.Resize((480, 640)), transforms.ToTensor()])  # repaired: self.transform = transforms.Compose([transforms.Resize((360, 640)), transforms.ToTensor()])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        return self.transform(image), index % 2


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(3, 16, 3, stride=8, padding=1)
        self.down2 = nn.Conv2d(16, 64, 3, stride=8, padding=1)
        self.road_linear = nn.Linear(64 * 6 * 10, 2)

    def forward(self, x):
        x = torch.relu(self.down1(x))
        x = torch.relu(self.down2(x))
        x = x.reshape(x.size(0), -1)
        return self.road_linear(x)  # dies


net = Encoder()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
loader = DataLoader(Lanes([f"{i}.png" for i in range(8)]), batch_size=2)
for images, labels in loader:
    optimizer.zero_grad()
    loss = criterion(net(images), labels)
    loss.backward()
    optimizer.step()
