# https://github.com/ruotianluo/self-critical.pytorch/issues/44
import torch
import torch.nn as nn


class Captioner(nn.Module):
    def __init__(self, att_feat_size=2048, rnn_size=512, use_bn=True):
        super().__init__()
        self.att_embed = nn.Sequential(*(
            ((nn.BatchNorm1d(att_feat_size),) if use_bn else ())  # here
            + (nn.Linear(att_feat_size, rnn_size), nn.ReLU(), nn.Dropout(0.5))
        ))
        self.logit = nn.Linear(rnn_size, 9487)

    def forward(self, att_feats):
        att = self.att_embed(att_feats)  # dies  # repaired: att = self.att_embed(att_feats.reshape(-1, 2048)).view(att_feats.size(0), -1, 512)
        return self.logit(att.mean(1))


model = Captioner()
att_feats = torch.rand(10, 36, 2048)
words = torch.randint(0, 9487, (10,))
loss = nn.functional.cross_entropy(model(att_feats), words)
loss.backward()
