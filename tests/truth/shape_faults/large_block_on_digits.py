# https://github.com/securefederatedai/openfederatedlearning/issues/226
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets, transforms


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.block_1 = nn.Sequential(nn.Conv2d(1, 64, (3, 3), padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d((2, 2), stride=(2, 2)))
        self.block_2 = nn.Sequential(nn.Conv2d(64, 128, (3, 3), padding=1), nn.BatchNorm2d(128), nn.ReLU(), nn.MaxPool2d((2, 2), stride=(2, 2)))
        self.block_3 = nn.Sequential(nn.Conv2d(128, 512, (3, 3), padding=1), nn.ReLU(), nn.MaxPool2d((2, 2)), nn.MaxPool2d((2, 2)))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 2 * 2, 4096),  # repaired: nn.Linear(512, 4096),
            nn.ReLU(),
            nn.Linear(4096, 10),
        )

    def forward(self, x):
        x = self.block_1(x)
        x = self.block_2(x)
        x = self.block_3(x)
        logits = self.classifier(x.view(-1, 512))  # dies
        return F.log_softmax(logits, dim=1)


def train(epoch, net, loader, optimizer):
    net.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(net(data), target)
        loss.backward()
        optimizer.step()


net = Net()
mnist = datasets.MNIST("files", train=True, download=True, transform=transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]))
train(1, net, torch.utils.data.DataLoader(mnist, batch_size=128, shuffle=True), torch.optim.SGD(net.parameters(), lr=0.01))
