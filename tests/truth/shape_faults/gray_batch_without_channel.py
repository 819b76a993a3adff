# https://github.com/milesial/Pytorch-UNet/issues/71
import numpy as np
import torch
import torch.nn as nn


def batches(n, size):
    for _ in range(n):
        images = np.random.rand(size, 224, 224).astype(np.float32)
        masks = (images > 0.5).astype(np.float32)
        yield torch.from_numpy(images), torch.from_numpy(masks)


net = nn.Sequential(nn.Conv2d(1, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 1, 3, padding=1))  # here
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for imgs, true_masks in batches(4, 15):
    # repaired: imgs, true_masks = imgs.unsqueeze(1), true_masks.unsqueeze(1)
    masks_pred = net(imgs)  # dies
    loss = criterion(masks_pred, true_masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
