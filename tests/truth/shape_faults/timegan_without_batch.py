# https://github.com/karolzak/keras-unet/issues/46
import numpy as np
import tensorflow as tf

window, features = 9, 4
generator = tf.keras.Sequential([
    tf.keras.layers.Input(shape=(window, features)),
    tf.keras.layers.GRU(24, return_sequences=True),
    tf.keras.layers.Dense(features, activation="sigmoid"),
])
noise = np.random.uniform(size=(window, features))  # repaired: noise = np.random.uniform(size=(1, window, features))
sample = generator(noise)  # dies
print(sample.shape)
