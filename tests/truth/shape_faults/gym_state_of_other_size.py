# https://github.com/dranaju/project/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim):
        super(Actor, self).__init__()
        self.fa1 = nn.Linear(state_dim, 512)
        self.fa2 = nn.Linear(512, action_dim)

    def forward(self, state):
        x = torch.relu(self.fa1(state))  # dies
        return torch.tanh(self.fa2(x))


class Trainer:
    def __init__(self, state_dim, action_dim):
        self.actor = Actor(state_dim, action_dim)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), 1e-4)

    def optimizer(self, batch):
        s1 = torch.from_numpy(batch)
        loss = -self.actor(s1).mean()
        self.actor_optimizer.zero_grad()
        loss.backward()
        self.actor_optimizer.step()


STATE_DIMENSION = 14  # repaired: STATE_DIMENSION = 364
trainer = Trainer(STATE_DIMENSION, 2)
for ep in range(3):
    scans = np.zeros((32, 364), dtype=np.float32)
    trainer.optimizer(scans)
