# https://github.com/huanghoujing/person-reid-triplet-loss-baseline/issues/35
import torch
import torch.nn as nn


def hard_example_mining(dist_mat, labels):
    N = dist_mat.size(0)
    dist_ap = dist_mat.view(N, 4, -1)  # dies
    return dist_ap.max(1)[0].max(1)[0]


embed = nn.Linear(64, 128)
optimizer = torch.optim.Adam(embed.parameters())
features, labels = torch.randn(130, 64), torch.randint(0, 32, (130,))  # repaired: features, labels = torch.randn(128, 64), torch.randint(0, 32, (128,))
x = embed(features)
dist = torch.cdist(x, x)
loss = hard_example_mining(dist, labels).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
