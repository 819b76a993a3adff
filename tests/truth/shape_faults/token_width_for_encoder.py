# https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/23
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, n_vocab, d_word_vec, d_model, n_head):
        super().__init__()
        self.word_emb = nn.Embedding(n_vocab, d_word_vec)
        self.attn = nn.MultiheadAttention(d_model, n_head, batch_first=True)
        self.ff = nn.Linear(d_model, d_model)

    def forward(self, src):
        x = self.word_emb(src)
        x, _ = self.attn(x, x, x)  # dies
        return self.ff(x)


encoder = Encoder(n_vocab=1000, d_word_vec=300, d_model=512, n_head=8)  # repaired: encoder = Encoder(n_vocab=1000, d_word_vec=512, d_model=512, n_head=8)
src = torch.randint(0, 1000, (4, 17))
out = encoder(src)
out.mean().backward()
