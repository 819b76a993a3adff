# https://github.com/sgrvinod/a-PyTorch-Tutorial-to-Image-Captioning/issues/195
import torch
import torch.nn as nn


class DecoderWithAttention(nn.Module):
    def __init__(self, vocab_size, embed_dim=128, decoder_dim=256):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.decode_step = nn.GRU(embed_dim, decoder_dim, batch_first=True)
        self.fc = nn.Linear(decoder_dim, vocab_size)

    def forward(self, captions):
        hidden, _ = self.decode_step(self.embedding(captions[:, :-1]))
        return self.fc(hidden), captions[:, 1:]


decoder = DecoderWithAttention(vocab_size=949)
criterion = nn.CrossEntropyLoss()
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=4e-4)
for i in range(5):
    caps = torch.randint(0, 949, (32, 52))
    scores, targets = decoder(caps)
    loss = criterion(scores, targets)  # dies  # repaired: loss = criterion(scores.reshape(-1, 949), targets.reshape(-1))
    decoder_optimizer.zero_grad()
    loss.backward()
    decoder_optimizer.step()
