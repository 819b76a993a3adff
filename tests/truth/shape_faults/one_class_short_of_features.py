# https://github.com/talbenha/cell-tracker-gnn/issues/8
import torch
import torch.nn as nn


class MLP(nn.Module):
    def __init__(self, input_dim, fc_dims):
        super().__init__()
        layers = []
        for dim in fc_dims:
            layers.append(nn.Linear(input_dim, dim))  # here
            layers.append(nn.ReLU())
            input_dim = dim
        self.fc_layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.fc_layers(x)  # dies


class NetConfig:
    node_features = 128  # repaired: node_features = 12
    dims = [64, 32]


model = MLP(NetConfig.node_features, NetConfig.dims)
nodes = torch.rand(308, 12)
model(nodes).sum().backward()
