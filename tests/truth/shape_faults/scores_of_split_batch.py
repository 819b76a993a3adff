# https://github.com/nv-tlabs/semanticGAN_code/issues/27
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return {"image": torch.rand(4, 3, 64, 64), "mask": torch.zeros(1, 64, 64)}  # repaired: return {"image": torch.rand(3, 64, 64), "mask": torch.zeros(1, 64, 64)}


encoder = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(encoder.parameters())
for data in DataLoader(Faces(), batch_size=1):
    images = data["image"].view(-1, 3, 64, 64)
    seg = encoder(images)
    loss = criterion(seg, data["mask"])  # dies
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
