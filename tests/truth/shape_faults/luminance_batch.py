# https://github.com/harshitbansal05/Image-Colorization/issues/1
import torch
import torch.nn as nn
from torchvision import datasets, transforms

trainset = datasets.CIFAR10("data", train=True, download=True, transform=transforms.ToTensor())
loader = torch.utils.data.DataLoader(trainset, batch_size=128, shuffle=True)


class Colorizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 64, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(64, 2, 4, stride=2, padding=1)

    def forward(self, x):
        return torch.tanh(self.up(torch.relu(self.down(x))))  # dies


net = Colorizer()
optimizer = torch.optim.Adam(net.parameters())
for images, _ in loader:
    l_images = images.mean(dim=1)  # repaired: l_images = images.mean(dim=1, keepdim=True)
    ab_images = images[:, 1:]
    loss = nn.functional.l1_loss(net(l_images), ab_images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
