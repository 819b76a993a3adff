# https://github.com/blackfeather-wang/ISDA-for-Deep-Networks/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
import torchvision.transforms as transforms

transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
trainset = torchvision.datasets.CIFAR10(root="./data", train=True, download=True, transform=transform)
trainloader = torch.utils.data.DataLoader(trainset, batch_size=4, shuffle=True, num_workers=2)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 64, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(64, 256, 5)
        self.fc1 = nn.Linear(256 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)  # repaired:

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 256 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)  # repaired:
        return x


class FullLayer(nn.Module):
    def __init__(self, feature_num, class_num):
        super(FullLayer, self).__init__()
        self.fc = nn.Linear(feature_num, class_num)

    def forward(self, x):
        return self.fc(x)  # dies


net = Net()
fc = FullLayer(84, 10)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(list(net.parameters()) + list(fc.parameters()), lr=0.001)
for i, data in enumerate(trainloader, 0):
    inputs, labels = data
    optimizer.zero_grad()
    outputs = fc(net(inputs))
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
