# https://github.com/Vishal-V/GSoC-TensorFlow-2019/issues/4
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

discriminator = keras.Sequential([layers.Dense(64, activation="relu", input_shape=(100,)), layers.Dense(1, activation="sigmoid")])
discriminator.compile(loss="binary_crossentropy", optimizer="adam")
for epoch in range(2):
    latent = np.random.normal(size=(128, 100))
    real = np.ones((64, 1))  # repaired: real = np.ones((128, 1))
    d_loss = discriminator.train_on_batch(latent, real)  # dies
