# https://github.com/lbktrinh/UNet_scAG/issues/1
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T
from PIL import Image


class Lesions(Dataset):
    def __init__(self, root):
        self.size = (540, 760)  # repaired: self.size = (512, 736)
        self.to_tensor = T.Compose([T.Resize(self.size), T.ToTensor()])

    def __len__(self):
        return 4

    def __getitem__(self, index):
        image = Image.open(f"images/{index}.png").convert("RGB")
        mask = Image.open(f"masks/{index}.png").convert("L")
        return self.to_tensor(image), self.to_tensor(mask)


def conv_block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.maxpool = nn.MaxPool2d(2, 2)
        self.conv1, self.conv2, self.conv3, self.conv4 = conv_block(3, 8), conv_block(8, 16), conv_block(16, 32), conv_block(32, 64)
        self.up = nn.Upsample(scale_factor=2)
        self.dec4, self.dec3, self.dec2 = conv_block(96, 32), conv_block(48, 16), conv_block(24, 8)
        self.final = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x1 = self.conv1(x)
        x2 = self.conv2(self.maxpool(x1))
        x3 = self.conv3(self.maxpool(x2))
        x4 = self.conv4(self.maxpool(x3))
        d4 = torch.cat((x3, self.up(x4)), dim=1)  # dies
        d3 = torch.cat((x2, self.up(self.dec4(d4))), dim=1)
        d2 = torch.cat((x1, self.up(self.dec3(d3))), dim=1)
        return self.final(self.dec2(d2))


def main():
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for images, masks in DataLoader(Lesions("data"), batch_size=2, shuffle=True):
        outputs = model(images)
        loss = criterion(outputs, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
