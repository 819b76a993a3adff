# https://github.com/mlmed/torchxrayvision/issues/92
import torch
import torch.nn as nn
from torchvision import datasets, models, transforms

train_transforms = transforms.Compose([transforms.Resize((224, 224)), transforms.ToTensor()])
train_data = datasets.ImageFolder("xrays/train", transform=train_transforms)
train_loader = torch.utils.data.DataLoader(train_data, batch_size=8, shuffle=True)

model = models.resnet18(pretrained=True)
for param in model.parameters():
    param.requires_grad = False
model.fc = nn.Sequential(
    nn.Linear(2048, 128),  # repaired: nn.Linear(512, 128),
    nn.ReLU(inplace=True),
    nn.Linear(128, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.fc.parameters(), lr=0.001)
for epoch in range(3):
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        outputs = model(inputs)  # dies
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
