// The files that the test opens: a script and a notebook with ordinary mistakes.

export const SCRIPT = `import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

images = torch.randn(60_000, 784)
labels = torch.randint(0, 10, (60_000,))
loader = DataLoader(TensorDataset(images, labels), batch_size=256, shuffle=True)

model = nn.Sequential(
    nn.Linear(784, 256),
    nn.ReLU(),
    nn.Linear(256, 10),
    nn.Softmax(dim=1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(10):
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss
    print(epoch, total / len(loader))
`;

const CELLS = [
  ["markdown", "# Fitting a line"],
  [
    "code",
    `import torch
from torch import nn

x = torch.linspace(-1, 1, 256).unsqueeze(1)
y = 3 * x + 0.1 * torch.randn_like(x)`,
  ],
  [
    "code",
    `model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)`,
  ],
  [
    "code",
    `for step in range(100):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()`,
  ],
];

export const NOTEBOOK = `${JSON.stringify(
  {
    // In the order in which VS Code writes them.
    cells: CELLS.map(([kind, text], index) => ({
      cell_type: kind,
      ...(kind === "code" ? { execution_count: null } : {}),
      id: `cell-${index}`,
      metadata: {},
      ...(kind === "code" ? { outputs: [] } : {}),
      source: text.split(/(?<=\n)/),
    })),
    metadata: { language_info: { name: "python" } },
    nbformat: 4,
    nbformat_minor: 5,
  },
  null,
  1,
)}\n`;

/** A finding behind characters that take one, two and three bytes, and one or two units of UTF-16. */
export const WIDE = `import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in [(torch.randn(8, 4), torch.randn(8, 2))] * 10:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    print("naïve 😀", loss.item()); optimizer.step()
`;

/** A finding that can be run. */
export const RUNNABLE = `import torch
from torch import nn


class Entropy(nn.Module):
    def forward(self, logits):
        p = torch.softmax(logits, dim=-1)
        return -(p * torch.log(p)).sum(dim=-1).mean()


model = nn.Linear(16, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
entropy = Entropy()
for x in torch.randn(100, 32, 16):
    optimizer.zero_grad()
    entropy(model(x)).backward()
    optimizer.step()
`;
