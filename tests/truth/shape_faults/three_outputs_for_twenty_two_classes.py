# https://github.com/keras-team/keras/issues/10238
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

x = np.random.rand(220, 64)
y = keras.utils.to_categorical(np.random.randint(0, 22, size=220), 22)
model = keras.Sequential([layers.Dense(128, activation="relu", input_dim=64), layers.Dropout(0.5)])
model.add(layers.Dense(3, activation="softmax"))  # repaired: model.add(layers.Dense(22, activation="softmax"))
model.compile("adam", loss="categorical_crossentropy")
model.fit(x, y, epochs=2)  # dies
