# http://www.kouhan.cn/en/article/00050409
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset


class Dogs(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.rand(3, 224, 224), index % 133


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc = nn.Linear(32 * 14 * 14, 133)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.fc(x.view(-1, 32 * 14 * 14))


model = Net()
criterion = nn.MSELoss()  # repaired: criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.001)
for batch_idx, (data, target) in enumerate(DataLoader(Dogs(), batch_size=10)):
    optimizer.zero_grad()
    output = model(data)
    loss = criterion(output, target)  # dies
    loss.backward()
    optimizer.step()
