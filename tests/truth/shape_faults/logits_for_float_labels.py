# https://github.com/qqsuhao/skip-GANomaly-MvTec-grid/issues/1
import torch
import torch.nn as nn


class NetD(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2))
        self.classifier = nn.Sequential(nn.Conv2d(64, 1, 4, 1, 0), nn.Sigmoid())

    def forward(self, x):
        features = self.features(x)
        classifier = self.classifier(features)
        classifier = classifier.view(-1, 1).squeeze(1)
        return classifier, features


batch = 20
net_d = NetD()
L_adv_disc = nn.BCELoss()
optimizer = torch.optim.Adam(net_d.parameters(), lr=2e-4)
label_real = torch.ones(batch)
inputs = torch.rand(batch, 3, 64, 64)  # repaired: inputs = torch.rand(batch, 3, 16, 16)
D_real, features = net_d(inputs)
disc_loss_real = L_adv_disc(D_real, label_real)  # dies
optimizer.zero_grad()
disc_loss_real.backward()
optimizer.step()
