# https://github.com/pytorch/pytorch/issues/3238
import torch
import torch.nn as nn
import torch.nn.functional as F


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 128)
        self.affine2 = nn.Linear(128, 2)

    def forward(self, x):
        x = F.relu(self.affine1(x))
        action_scores = self.affine2(x)
        return F.softmax(action_scores, dim=1)  # dies


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
state = torch.rand(4)  # repaired: state = torch.rand(1, 4)
for t in range(10):
    probs = policy(state)
    m = torch.distributions.Categorical(probs)
    action = m.sample()
    loss = -m.log_prob(action).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
