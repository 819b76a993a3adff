# https://github.com/tyiannak/deep_audio_features/issues/23
import torch
import torch.nn as nn


class ConvAutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 3, stride=2, padding=1, output_padding=1), nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 3, stride=2, padding=1, output_padding=1),  # repaired: nn.ConvTranspose2d(16, 1, 3, stride=2, padding=1, output_padding=(1, 0)),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = ConvAutoEncoder()
criterion = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(3):
    spectrogram = torch.randn(16, 1, 128, 201)
    optimizer.zero_grad()
    output = model(spectrogram)
    # repaired: output = output[..., :201]
    loss = criterion(output, spectrogram)  # dies
    loss.backward()
    optimizer.step()
