# https://github.com/pytorch/examples/issues/359
import torch
import torch.nn as nn
import torchvision.datasets as dset
import torchvision.transforms as transforms

dataset = dset.CIFAR10(root="data", download=True, transform=transforms.Compose([
    transforms.Resize(32),  # repaired: transforms.Resize(64),
    transforms.ToTensor(),
    transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
]))
dataloader = torch.utils.data.DataLoader(dataset, batch_size=64, shuffle=True)
nc, ndf = 3, 64


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 4),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 4, ndf * 8, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 8),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 8, 1, 4, 1, 0, bias=False),  # here
            nn.Sigmoid(),
        )

    def forward(self, input):
        output = self.main(input)  # dies
        return output.view(-1, 1).squeeze(1)


netD = Discriminator()
criterion = nn.BCELoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
for i, data in enumerate(dataloader, 0):
    netD.zero_grad()
    real_cpu = data[0]
    label = torch.full((real_cpu.size(0),), 1.0)
    output = netD(real_cpu)
    errD_real = criterion(output, label)
    errD_real.backward()
    optimizerD.step()
