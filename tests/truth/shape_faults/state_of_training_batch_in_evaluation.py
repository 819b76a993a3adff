# https://github.com/PetrochukM/PyTorch-NLP/issues/51
import torch
import torch.nn as nn

bptt, batch_size, eval_batch_size = 70, 20, 10


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden)  # dies
        return self.decoder(output.view(-1, self.nhid)), hidden

    def init_hidden(self, bsz):
        return torch.zeros(1, bsz, self.nhid), torch.zeros(1, bsz, self.nhid)


model = RNNModel(1000, 100, 150)
criterion = nn.CrossEntropyLoss()


def evaluate(source):
    model.eval()
    total_loss = 0.0
    hidden = model.init_hidden(batch_size)  # repaired: hidden = model.init_hidden(eval_batch_size)
    with torch.no_grad():
        for i in range(0, source.size(0) - bptt, bptt):
            data, targets = source[i:i + bptt], source[i + 1:i + 1 + bptt].reshape(-1)
            output, hidden = model(data, hidden)
            total_loss += criterion(output, targets).item()
    return total_loss


val_data = torch.randint(0, 1000, (281, eval_batch_size))
print(evaluate(val_data))
