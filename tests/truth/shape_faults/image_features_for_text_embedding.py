# https://github.com/fartashf/vsepp/issues/49
import torch
import torch.nn as nn


class EncoderImagePrecomp(nn.Module):
    def __init__(self, img_dim, embed_size):
        super().__init__()
        self.fc = nn.Linear(img_dim, embed_size)

    def forward(self, images):
        features = self.fc(images)  # dies
        return features / features.norm(dim=-1, keepdim=True)


class VSE:
    def __init__(self, img_dim, embed_size):
        self.img_enc = EncoderImagePrecomp(img_dim, embed_size)
        self.optimizer = torch.optim.Adam(self.img_enc.parameters(), lr=2e-4)

    def train_emb(self, images):
        emb = self.img_enc(images)
        loss = -(emb @ emb.transpose(1, 2)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


model = VSE(4096, 1024)  # repaired: model = VSE(2048, 1024)
for i in range(3):
    model.train_emb(torch.rand(128, 36, 2048))
