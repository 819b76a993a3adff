# https://github.com/facebookresearch/detr/issues/499
import argparse
import torch
from torch import nn


def get_args_parser():
    parser = argparse.ArgumentParser("detector", add_help=False)
    parser.add_argument("--nheads", default=8, type=int)
    parser.add_argument("--num_queries", default=100, type=int)
    return parser


class TransformerLayer(nn.Module):
    def __init__(self, d_model, nhead):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=0.1)  # dies
        self.norm = nn.LayerNorm(d_model)

    def forward(self, src):
        return self.norm(src + self.self_attn(src, src, src)[0])


def build(args):
    return TransformerLayer(250, 8)  # repaired: return TransformerLayer(256, 8)


if __name__ == "__main__":
    args = get_args_parser().parse_args()
    layer = build(args)
    out = layer(torch.randn(args.num_queries, 2, 256))
    out.sum().backward()
