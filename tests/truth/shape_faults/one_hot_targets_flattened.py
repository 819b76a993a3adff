# https://github.com/deepset-ai/FARM/issues/100
import torch
import torch.nn as nn


class PredictionHead(nn.Module):
    def __init__(self, dims, num_labels):
        super().__init__()
        self.feed_forward = nn.Linear(dims, num_labels)
        self.loss_fct = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.feed_forward(x)

    def logits_to_loss(self, logits, label_ids):
        return self.loss_fct(logits, label_ids.view(-1))  # dies  # repaired: return self.loss_fct(logits, label_ids.argmax(1))


head = PredictionHead(768, 4)
optimizer = torch.optim.Adam(head.parameters(), lr=2e-5)
for step in range(10):
    pooled = torch.randn(8, 768)
    label_ids = torch.zeros(8, 4, dtype=torch.long)
    label_ids[:, 1] = 1
    logits = head(pooled)
    loss = head.logits_to_loss(logits, label_ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
