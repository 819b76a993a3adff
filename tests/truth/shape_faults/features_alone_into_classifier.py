# https://github.com/udacity/deep-learning-v2-pytorch/issues/396
import torch
from torch import nn
from torchvision import models

vgg = models.vgg11(weights=None)
image = torch.rand(1, 3, 224, 224)


class Style(nn.Module):
    def __init__(self, vgg):
        super().__init__()
        self.features = vgg.features
        self.fc = nn.Linear(25088, 4096)

    def forward(self, x):
        x = self.features(x)
        # repaired: x = torch.flatten(x, 1)
        return self.fc(x)  # dies


model = Style(vgg)
model(image).mean().backward()
