# https://github.com/carpedm20/DiscoGAN-pytorch/issues/19
import torch
import torch.nn as nn


class DiscriminatorCNN(nn.Module):
    def __init__(self, hidden_dims=(64, 128, 256, 512)):
        super().__init__()
        layers, previous = [], 3
        for width in hidden_dims:
            layers += [nn.Conv2d(previous, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
            previous = width
        layers += [nn.Conv2d(previous, 1, 4, 1, 0, bias=False), nn.Sigmoid()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        out = self.layers(x)
        return out.view(out.size(0), -1)


D = DiscriminatorCNN()
bce = nn.BCELoss()
optimizer_d = torch.optim.Adam(D.parameters(), lr=2e-4)
x_A = torch.rand(4, 3, 256, 256)  # repaired: x_A = torch.rand(4, 3, 64, 64)
real_tensor = torch.ones(4, 1)
l_d_A_real = bce(D(x_A), real_tensor)  # dies
optimizer_d.zero_grad()
l_d_A_real.backward()
optimizer_d.step()
