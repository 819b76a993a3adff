import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    data = TensorDataset(torch.randn(512, 10), torch.randint(0, 2, (512,)))
    model = nn.Linear(10, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_fn = nn.CrossEntropyLoss()
    for x, y in DataLoader(data, batch_size=64, shuffle=True):
        loss = loss_fn(model(x), y)
        loss.backward()
        print("naïve 😀", opt.step())


if __name__ == "__main__":
    main()
