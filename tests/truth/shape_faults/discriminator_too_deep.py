# https://github.com/Ha0Tang/SelectionGAN/issues/5
import torch
import torch.nn as nn


class NLayerDiscriminator(nn.Module):
    def __init__(self, input_nc, ndf=64, n_layers=5):  # repaired: def __init__(self, input_nc, ndf=64, n_layers=3):
        super().__init__()
        sequence = [nn.Conv2d(input_nc, ndf, kernel_size=4, stride=2, padding=1), nn.LeakyReLU(0.2, True)]
        nf_mult = 1
        for n in range(1, n_layers):
            nf_mult_prev, nf_mult = nf_mult, min(2 ** n, 8)
            sequence += [
                nn.Conv2d(ndf * nf_mult_prev, ndf * nf_mult, kernel_size=4, stride=2, padding=0),  # here
                nn.InstanceNorm2d(ndf * nf_mult),
                nn.LeakyReLU(0.2, True),
            ]
        sequence += [nn.Conv2d(ndf * nf_mult, 1, kernel_size=4, stride=1, padding=1)]
        self.model = nn.Sequential(*sequence)

    def forward(self, input):
        return self.model(input)  # dies


netD = NLayerDiscriminator(6, ndf=16)
pair = torch.cat([torch.randn(1, 3, 64, 64), torch.randn(1, 3, 64, 64)], 1)
loss = nn.functional.mse_loss(netD(pair), torch.ones(1))
loss.backward()
