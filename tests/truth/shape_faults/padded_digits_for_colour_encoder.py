# https://github.com/samet-akcay/ganomaly/issues/18
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST
from torchvision.transforms import Compose, Normalize, Resize, ToTensor

transform = Compose([Resize(32), ToTensor(), Normalize((0.1307,), (0.3081,))])
dataset = MNIST(root="./data", train=True, download=True, transform=transform)
dataloader = DataLoader(dataset, batch_size=64, shuffle=True, drop_last=True)


class Encoder(nn.Module):
    def __init__(self, isize, nz, nc, ndf):
        super().__init__()
        main = nn.Sequential()
        main.add_module("initial-conv", nn.Conv2d(nc, ndf, 4, 2, 1, bias=False))  # here
        main.add_module("initial-relu", nn.LeakyReLU(0.2, inplace=True))
        csize, cndf = isize / 2, ndf
        while csize > 4:
            main.add_module(f"conv-{cndf}", nn.Conv2d(cndf, cndf * 2, 4, 2, 1, bias=False))
            main.add_module(f"relu-{cndf}", nn.LeakyReLU(0.2, inplace=True))
            cndf, csize = cndf * 2, csize / 2
        main.add_module("final-conv", nn.Conv2d(cndf, nz, 4, 1, 0, bias=False))
        self.main = main

    def forward(self, input):
        return self.main(input)  # dies


netE = Encoder(isize=32, nz=100, nc=3, ndf=64)  # repaired: netE = Encoder(isize=32, nz=100, nc=1, ndf=64)
optimizer = torch.optim.Adam(netE.parameters(), lr=2e-4, betas=(0.5, 0.999))
for images, _ in dataloader:
    netE.zero_grad()
    latent = netE(images)
    loss = latent.pow(2).mean()
    loss.backward()
    optimizer.step()
