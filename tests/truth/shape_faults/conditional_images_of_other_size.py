# https://github.com/znxlwm/pytorch-MNIST-CelebA-cGAN-cDCGAN/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets, transforms

img_size = 48  # repaired: img_size = 32
transform = transforms.Compose([transforms.Resize(img_size), transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
train_loader = torch.utils.data.DataLoader(datasets.MNIST("data", train=True, download=True, transform=transform), batch_size=128, shuffle=True, drop_last=True)


class discriminator(nn.Module):
    def __init__(self, d=128):
        super(discriminator, self).__init__()
        self.conv1 = nn.Conv2d(1, d, 4, 2, 1)
        self.conv2 = nn.Conv2d(d, d * 2, 4, 2, 1)
        self.conv3 = nn.Conv2d(d * 2, d * 4, 4, 2, 1)
        self.conv4 = nn.Conv2d(d * 4, 1, 4, 1, 0)

    def forward(self, input):
        x = F.leaky_relu(self.conv1(input), 0.2)
        x = F.leaky_relu(self.conv2(x), 0.2)
        x = F.leaky_relu(self.conv3(x), 0.2)
        return torch.sigmoid(self.conv4(x))


D = discriminator(16)
BCE_loss = nn.BCELoss()
D_optimizer = torch.optim.Adam(D.parameters(), lr=0.0002)
y_real = torch.ones(128)
for x_, y_ in train_loader:
    D.zero_grad()
    D_result = D(x_).squeeze()
    D_real_loss = BCE_loss(D_result, y_real)  # dies
    D_real_loss.backward()
    D_optimizer.step()
