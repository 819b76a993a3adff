# https://github.com/open-nudge/torchlayers/issues/8
import torch
from torch import nn, optim

model = nn.Sequential(
    nn.Conv2d(3, 32, kernel_size=8, stride=4),
    nn.ReLU(),
    nn.Conv2d(32, 64, kernel_size=4, stride=2),
    nn.ReLU(),
    nn.Conv2d(64, 64, kernel_size=3, stride=1),
    nn.ReLU(),
    # repaired: nn.Flatten(),
    nn.Linear(3136, 512),  # here
    nn.ReLU(),
    nn.Linear(512, 4),
)
optimizer = optim.RMSprop(model.parameters(), lr=2.5e-4)
frames = torch.randn(32, 3, 84, 84)
values = model(frames)  # dies
loss = values.pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
