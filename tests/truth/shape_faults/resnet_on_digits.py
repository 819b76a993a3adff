# https://github.com/JonasGeiping/data-poisoning/issues/3
import torch
import torch.nn as nn
from torchvision import datasets, models, transforms

train = datasets.MNIST("data", train=True, download=True, transform=transforms.ToTensor())
# repaired: train.transform = transforms.Compose([transforms.Grayscale(3), transforms.ToTensor()])
loader = torch.utils.data.DataLoader(train, batch_size=128, shuffle=True)
model = models.resnet18(num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for images, labels in loader:
    optimizer.zero_grad()
    loss = criterion(model(images), labels)  # dies
    loss.backward()
    optimizer.step()
