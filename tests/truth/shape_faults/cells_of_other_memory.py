# https://github.com/shirleyzhu233/PyTorch-MAML/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList([
            nn.Parameter(torch.randn(32, 3, 3, 3) * 0.01),
            nn.Parameter(torch.zeros(32)),
            nn.Parameter(torch.randn(5, 32 * 21 * 21) * 0.01),  # repaired: nn.Parameter(torch.randn(5, 32 * 20 * 20) * 0.01),
            nn.Parameter(torch.zeros(5)),
        ])

    def forward(self, x):
        x = F.conv2d(x, self.vars[0], self.vars[1])
        x = F.max_pool2d(F.relu(x), 4)
        x = x.reshape(x.size(0), -1)
        return F.linear(x, self.vars[2], self.vars[3])  # dies


net = Learner()
x_spt, y_spt = torch.randn(5, 3, 84, 84), torch.arange(5)
loss = F.cross_entropy(net(x_spt), y_spt)
grads = torch.autograd.grad(loss, net.parameters())
