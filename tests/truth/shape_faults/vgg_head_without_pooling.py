# https://github.com/weiaicunzai/pytorch-cifar100/issues/50
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets, transforms


class VGG(nn.Module):
    def __init__(self, features, num_class=100):
        super().__init__()
        self.features = features
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 1024),  # repaired: nn.Linear(512, 1024),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(1024, num_class),
        )

    def forward(self, x):
        output = self.features(x)
        output = output.view(output.size()[0], -1)
        output = self.classifier(output)  # dies
        return output


def make_layers(cfg):
    layers = []
    input_channel = 3
    for l in cfg:
        if l == "M":
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            continue
        layers += [nn.Conv2d(input_channel, l, kernel_size=3, padding=1), nn.ReLU(inplace=True)]
        input_channel = l
    return nn.Sequential(*layers)


def vgg():
    return VGG(make_layers([64, "M", 128, "M", 256, "M", 512, "M", 512, "M"]))


if __name__ == "__main__":
    net = vgg()
    transform = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    training = datasets.CIFAR100(root="./data", train=True, download=True, transform=transform)
    loader = torch.utils.data.DataLoader(training, shuffle=True, batch_size=64)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
