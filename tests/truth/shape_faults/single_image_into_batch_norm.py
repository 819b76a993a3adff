# https://github.com/michuanhaohao/reid-strong-baseline/issues/6
import torch
import torchvision.transforms as T
from PIL import Image
from torch import nn
from torchvision import models

transform = T.Compose([T.Resize((384, 128)), T.ToTensor(), T.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])])


class Baseline(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        backbone = models.resnet50(pretrained=False)
        self.base = nn.Sequential(*list(backbone.children())[:-2])
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.bottleneck = nn.BatchNorm1d(2048)
        self.classifier = nn.Linear(2048, num_classes)

    def forward(self, x):
        feat = self.gap(self.base(x))  # dies
        feat = feat.view(feat.shape[0], -1)
        return self.bottleneck(feat)


model = Baseline(751)
model.eval()
img = Image.open("query/1061_c2s2_138552_00.jpg").convert("RGB")
data = transform(img)
# repaired: data = data.unsqueeze(0)
with torch.no_grad():
    feat = model(data)
