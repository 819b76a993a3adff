# https://github.com/pytorch/pytorch/issues/9076
import torch
import torch.nn as nn
from torchvision import datasets, transforms

discriminator = nn.Sequential(
    nn.Conv2d(1, 64, 4, 2, 1),
    nn.LeakyReLU(0.2),
    nn.Conv2d(64, 128, 4, 2, 1),
    nn.BatchNorm2d(256),  # repaired: nn.BatchNorm2d(128),
    nn.LeakyReLU(0.2),
    nn.Conv2d(128, 1, 7),
    nn.Sigmoid(),
)
mnist = datasets.MNIST("mnist", download=True, transform=transforms.ToTensor())
loader = torch.utils.data.DataLoader(mnist, batch_size=100, shuffle=True)
criterion = nn.BCELoss()
d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=0.0002)
for epoch in range(10):
    for input, _ in loader:
        discriminator.zero_grad()
        output = discriminator(input)  # dies
        d_loss = criterion(output.view(-1), torch.ones(input.size(0)))
        d_loss.backward()
        d_optimizer.step()
