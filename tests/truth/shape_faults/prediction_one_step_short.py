# https://github.com/gauthierdmn/question_generation/issues/4
import torch
import torch.nn as nn


class Seq2Seq(nn.Module):
    def __init__(self, vocabulary=500, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.encoder = nn.LSTM(hidden, hidden, batch_first=True)
        self.decoder = nn.LSTM(hidden, hidden, batch_first=True)
        self.generator = nn.Linear(hidden, vocabulary)

    def forward(self, sentence, question):
        _, state = self.encoder(self.embedding(sentence))
        out, _ = self.decoder(self.embedding(question[:, :-1]), state)
        return self.generator(out)


model = Seq2Seq()
criterion = nn.CrossEntropyLoss(ignore_index=0)
optimizer = torch.optim.Adam(model.parameters())
for i in range(100):
    sentence = torch.randint(0, 500, (64, 40))
    question = torch.randint(0, 500, (64, 20))
    pred = model(sentence, question)
    loss = criterion(pred.view(-1, pred.size(2)), question.view(-1))  # dies  # repaired: loss = criterion(pred.view(-1, pred.size(2)), question[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
