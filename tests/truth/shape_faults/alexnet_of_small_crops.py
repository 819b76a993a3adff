# https://github.com/pangwong/pytorch-multi-label-classifier/issues/2
import torch
import torch.nn as nn
from torchvision import transforms
from torch.utils.data import DataLoader, Dataset
from PIL import Image


class Tags(Dataset):
    def __init__(self):
        self.transform = transforms.Compose([transforms.Resize(144), transforms.CenterCrop(128), transforms.ToTensor()])

    def __len__(self):
        return 6

    def __getitem__(self, index):
        img = Image.open(f"tags/{index}.jpg").convert("RGB")
        return self.transform(img), torch.zeros(5)


class VGG(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [3, 64, 128, 256, 512, 512]
        self.features = nn.Sequential(*[
            layer for i, o in zip(widths[:-1], widths[1:]) for layer in (nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        ])
        self.classifier = nn.Sequential(nn.Linear(512 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 5))  # repaired: self.classifier = nn.Sequential(nn.Linear(512 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 5))

    def forward(self, x):
        x = self.features(x)
        x = x.view(x.size(0), -1)
        return self.classifier(x)  # dies


model = VGG()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters())
for images, tags in DataLoader(Tags(), batch_size=2):
    loss = criterion(model(images), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
