# https://duoke360.com/post/34398
import torch
import torchvision
from torch import nn

train_set = torchvision.datasets.MNIST(root="./data", train=True, download=True, transform=torchvision.transforms.ToTensor())
loader = torch.utils.data.DataLoader(train_set, batch_size=64, shuffle=True)
model = nn.Sequential(
    # repaired: nn.Flatten(),
    nn.Linear(784, 256),  # here
    nn.ReLU(),
    nn.Linear(256, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for images, labels in loader:
        optimizer.zero_grad()
        outputs = model(images)  # dies
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
