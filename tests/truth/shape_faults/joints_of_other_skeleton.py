# https://github.com/lshiwjx/2s-AGCN/issues/19
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, num_class=60, num_point=18, num_person=2, in_channels=3):
        super().__init__()
        self.data_bn = nn.BatchNorm1d(num_person * in_channels * num_point)
        self.conv = nn.Conv2d(in_channels, 64, 1)
        self.fc = nn.Linear(64, num_class)

    def forward(self, x):
        N, C, T, V, M = x.size()
        x = x.permute(0, 4, 3, 1, 2).contiguous().view(N, M * V * C, T)
        x = self.data_bn(x)  # dies
        x = x.view(N, M, V, C, T).permute(0, 1, 3, 4, 2).contiguous().view(N * M, C, T, V)
        x = self.conv(x)
        x = x.view(N, M, 64, -1).mean(3).mean(1)
        return self.fc(x)


model = Model(num_person=2)  # repaired: model = Model(num_person=1)
skeletons = torch.randn(4, 3, 100, 18, 1)
loss = nn.functional.cross_entropy(model(skeletons), torch.randint(0, 60, (4,)))
loss.backward()
