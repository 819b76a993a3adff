# https://github.com/keras-team/keras/issues/13603
import numpy as np
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam

images = np.random.rand(500, 3072)
labels = np.random.randint(0, 10, size=(500, 1))

model = Sequential()
model.add(Dense(16, input_shape=(3072,)))
model.add(Dense(16, activation="relu"))
model.add(Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer=Adam(), metrics=["accuracy"])  # repaired: model.compile(loss="sparse_categorical_crossentropy", optimizer=Adam(), metrics=["accuracy"])
model.fit(images, labels, epochs=3, batch_size=50)  # dies
