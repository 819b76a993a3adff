# https://github.com/xiaojunxu/SQLNet/issues/59
import torch
import torch.nn as nn


class SelPredictor(nn.Module):
    def __init__(self, N_word, N_h, N_depth):
        super().__init__()
        self.sel_lstm = nn.LSTM(input_size=N_word, hidden_size=N_h // 2, num_layers=N_depth, batch_first=True, dropout=0.3, bidirectional=True)
        self.sel_out = nn.Linear(N_h, 6)

    def forward(self, x_emb):
        h, _ = self.sel_lstm(x_emb)  # dies
        return self.sel_out(h.mean(1))


N_word = 300  # repaired: N_word = 100
glove = nn.Embedding(400, 100)
model = SelPredictor(N_word, 100, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    question = torch.randint(0, 400, (16, 25))
    answer = torch.randint(0, 6, (16,))
    score = model(glove(question))
    loss = nn.functional.cross_entropy(score, answer)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
