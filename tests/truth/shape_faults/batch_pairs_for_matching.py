# https://github.com/pytorch/pytorch/issues/111645
import torch
import torch.nn as nn


class Domain(nn.Module):
    def __init__(self, terms):
        super().__init__()
        self.emb = nn.EmbeddingBag(2000, 128, mode="sum")
        self.fc = nn.Linear(128, terms)

    def forward(self, x):
        return torch.sigmoid(self.fc(self.emb(x)))


terms = 491
model = Domain(terms)
loss_function = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
for protein in range(20):
    domains = torch.randint(0, 2000, (1, 12))
    annotations = torch.randint(0, 2, (terms,)).float()
    out = model(domains)
    loss = loss_function(out, annotations)  # dies  # repaired: loss = loss_function(out.squeeze(0), annotations)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
