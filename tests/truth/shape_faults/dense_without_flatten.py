# https://github.com/keras-team/keras/issues/2724
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

x_train = np.random.rand(20, 48, 64, 3)
y_train = np.random.randint(0, 2, size=(20, 10))
model = keras.Sequential()
model.add(layers.Conv2D(16, (3, 3), padding="same", input_shape=(48, 64, 3)))
model.add(layers.MaxPooling2D((2, 2)))
# repaired: model.add(layers.Flatten())
model.add(layers.Dense(32, activation="relu"))
model.add(layers.Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="sgd")
model.fit(x_train, y_train, batch_size=4, epochs=1)  # dies
