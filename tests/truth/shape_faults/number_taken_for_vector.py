# https://github.com/xbresson/spectral_graph_convnets/issues/6
import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
running_loss = 0.0
for epoch in range(2):
    for i in range(100):
        train_x, train_y = torch.randn(100, 784), torch.randint(0, 10, (100,))
        optimizer.zero_grad()
        y = net(train_x)
        loss = criterion(y, train_y)
        loss_train = loss.detach()[0]  # dies  # repaired: loss_train = loss.item()
        loss.backward()
        optimizer.step()
        running_loss += loss_train
