# https://github.com/milesial/Pytorch-UNet/issues/86
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Masks(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        img = np.random.rand(96, 96)
        img = np.expand_dims(img, axis=0)
        mask = (img > 0.5).astype(np.float32)
        return {"image": torch.from_numpy(img).float(), "mask": torch.from_numpy(mask)}


class DoubleConv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),  # here
            nn.Conv2d(out_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)  # dies


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.inc = DoubleConv(n_channels, 16)
        self.down = nn.Sequential(nn.MaxPool2d(2), DoubleConv(16, 32))
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.conv = DoubleConv(32, 16)
        self.outc = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(x1)
        x = self.conv(torch.cat([x1, self.up(x2)], dim=1))
        return self.outc(x)


def train_net(net, epochs=2):
    loader = DataLoader(Masks(16), batch_size=4, shuffle=True)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        for batch in loader:
            imgs, true_masks = batch["image"], batch["mask"]
            masks_pred = net(imgs)
            loss = criterion(masks_pred, true_masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    train_net(UNet(n_channels=3, n_classes=1))  # repaired: train_net(UNet(n_channels=1, n_classes=1))
