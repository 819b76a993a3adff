# https://github.com/wujiyang/Face_Pytorch/issues/17
import torch
import torch.nn as nn


class Flatten(nn.Module):
    def forward(self, input):
        return input.view(input.size(0), -1)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.PReLU(o))


class CBAMResNet(nn.Module):
    def __init__(self, feature_dim=512):
        super().__init__()
        self.body = nn.Sequential(conv(3, 64), conv(64, 128), conv(128, 256), conv(256, 512))
        self.output_layer = nn.Sequential(
            nn.BatchNorm2d(512),
            nn.Dropout(0.4),
            Flatten(),
            nn.Linear(512 * 7 * 7, feature_dim),  # here
            nn.BatchNorm1d(feature_dim),
        )

    def forward(self, x):
        x = self.body(x)
        return self.output_layer(x)  # dies


def train():
    net = CBAMResNet()
    margin = nn.Linear(512, 100)
    optimizer = torch.optim.SGD([{"params": net.parameters()}, {"params": margin.parameters()}], lr=0.1)
    for i in range(3):
        img = torch.randn(4, 3, 120, 120)  # repaired: img = torch.randn(4, 3, 112, 112)
        label = torch.randint(0, 100, (4,))
        raw_logits = net(img)
        loss = nn.functional.cross_entropy(margin(raw_logits), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    train()
