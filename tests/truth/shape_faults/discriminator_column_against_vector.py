# https://github.com/nbertagnolli/pytorch-simple-gan/issues/1
import torch
import torch.nn as nn


class Discriminator(nn.Module):
    def __init__(self, input_length):
        super().__init__()
        self.dense = nn.Linear(input_length, 1)
        self.activation = nn.Sigmoid()

    def forward(self, x):
        return self.activation(self.dense(x))


class Generator(nn.Module):
    def __init__(self, input_length):
        super().__init__()
        self.dense_layer = nn.Linear(input_length, input_length)

    def forward(self, x):
        return torch.sigmoid(self.dense_layer(x))


def train(batch_size=16, training_steps=500):
    generator, discriminator = Generator(7), Discriminator(7)
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=0.001)
    loss = nn.BCELoss()
    for i in range(training_steps):
        generator_optimizer.zero_grad()
        noise = torch.randint(0, 2, size=(batch_size, 7)).float()
        generated_data = generator(noise)
        true_labels = torch.ones(batch_size)  # repaired: true_labels = torch.ones(batch_size, 1)
        generator_discriminator_out = discriminator(generated_data)
        generator_loss = loss(generator_discriminator_out, true_labels)  # dies
        generator_loss.backward()
        generator_optimizer.step()


train()
