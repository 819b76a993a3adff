# https://github.com/quark0/darts/issues/76
import argparse
import torch
import torch.nn as nn
import torchvision.datasets as dset
import torchvision.transforms as transforms

parser = argparse.ArgumentParser("digits")
parser.add_argument("--data", default="../data")
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--init_channels", type=int, default=16)
args = parser.parse_args()


class Network(nn.Module):
    def __init__(self, C, num_classes):
        super(Network, self).__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 3 * C, 3, padding=1, bias=False),  # repaired: nn.Conv2d(1, 3 * C, 3, padding=1, bias=False),
            nn.BatchNorm2d(3 * C),
        )
        self.global_pooling = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(3 * C, num_classes)

    def forward(self, input):
        s0 = self.stem(input)  # dies
        out = self.global_pooling(s0)
        return self.classifier(out.view(out.size(0), -1))


def main():
    model = Network(args.init_channels, 10)
    optimizer = torch.optim.SGD(model.parameters(), 0.025)
    criterion = nn.CrossEntropyLoss()
    train_data = dset.MNIST(root=args.data, train=True, download=True, transform=transforms.ToTensor())
    train_queue = torch.utils.data.DataLoader(train_data, batch_size=args.batch_size, shuffle=True)
    for step, (input, target) in enumerate(train_queue):
        optimizer.zero_grad()
        logits = model(input)
        loss = criterion(logits, target)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
