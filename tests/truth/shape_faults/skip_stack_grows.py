# https://github.com/matthewfranglen/interactive-image-classification
import torch
import torch.nn as nn


class SkipSequential(nn.Sequential):
    def forward(self, x):
        return torch.cat([x, super().forward(x)], dim=1)


def repeating_block(in_channels, out_channels):
    return nn.Sequential(
        SkipSequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1),
            nn.Tanh(),
            nn.Conv2d(out_channels, out_channels, 3, padding=1),
        ),
        nn.Tanh(),
        nn.Conv2d(out_channels, out_channels, 3, stride=2, padding=1),  # repaired: nn.Conv2d(in_channels + out_channels, out_channels, 3, stride=2, padding=1),
        nn.Tanh(),
    )


model = nn.Sequential(repeating_block(3, 16), repeating_block(16, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(5):
    prediction = model(torch.randn(128, 3, 19, 19))  # dies
    loss = nn.functional.cross_entropy(prediction, torch.randint(0, 10, (128,)))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
