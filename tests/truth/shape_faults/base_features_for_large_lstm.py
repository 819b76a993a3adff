# https://github.com/ljynlp/W2NER/issues/23
import torch
import torch.nn as nn
from types import SimpleNamespace

config = SimpleNamespace(bert_hid_size=1024, lstm_hid_size=512, label_num=8)  # repaired: config = SimpleNamespace(bert_hid_size=768, lstm_hid_size=512, label_num=8)


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = nn.TransformerEncoder(nn.TransformerEncoderLayer(768, 12, batch_first=True), 2)
        self.encoder = nn.LSTM(config.bert_hid_size, config.lstm_hid_size // 2, num_layers=1, batch_first=True, bidirectional=True)
        self.predictor = nn.Linear(config.lstm_hid_size, config.label_num)

    def forward(self, embedded):
        word_reps = self.bert(embedded)
        word_reps, _ = self.encoder(word_reps)  # dies
        return self.predictor(word_reps)


model = Model(config)
out = model(torch.randn(2, 30, 768))
out.mean().backward()
