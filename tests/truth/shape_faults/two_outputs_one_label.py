# https://github.com/patrickloeber/pytorchTutorial/issues/30
import torch
import torch.nn as nn
from torchvision import datasets, models, transforms

data_transforms = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
image_dataset = datasets.ImageFolder("hymenoptera_data/train", data_transforms)
dataloader = torch.utils.data.DataLoader(image_dataset, batch_size=4, shuffle=True)

model = models.resnet18(pretrained=True)
model.fc = nn.Linear(model.fc.in_features, 2)
criterion = nn.BCEWithLogitsLoss()  # repaired: criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for epoch in range(2):
    for inputs, labels in dataloader:
        outputs = model(inputs)
        loss = criterion(outputs, labels.float())  # dies  # repaired: loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
