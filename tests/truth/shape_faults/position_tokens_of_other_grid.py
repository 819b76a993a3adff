# https://github.com/xulianuwa/MCTformer/issues/29
import torch
import torch.nn as nn


class ViT(nn.Module):
    def __init__(self, img_size=224, patch_size=16, embed_dim=192, num_classes=20):
        super().__init__()
        self.num_patches = (img_size // patch_size) ** 2
        self.patch_embed = nn.Conv2d(3, embed_dim, patch_size, stride=patch_size)
        self.pos_embed = nn.Parameter(torch.zeros(1, self.num_patches + 1, embed_dim))
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, x):
        B = x.shape[0]
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        cls = self.cls_token.expand(B, -1, -1)
        x = torch.cat((cls, x), dim=1)
        x = x + self.pos_embed  # dies
        return self.head(x[:, 0])


model = ViT(img_size=208)  # repaired: model = ViT(img_size=224)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
criterion = nn.MultiLabelSoftMarginLoss()
for i in range(4):
    samples = torch.randn(8, 3, 224, 224)
    targets = torch.randint(0, 2, (8, 20)).float()
    loss = criterion(model(samples), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
