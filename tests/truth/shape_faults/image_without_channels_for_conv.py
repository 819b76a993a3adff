# https://github.com/stanford-futuredata/noscope/issues/26
from tensorflow import keras
from tensorflow.keras import layers

model = keras.Sequential()
model.add(keras.Input(shape=(50, 50)))  # repaired: model.add(keras.Input(shape=(50, 50, 3)))
model.add(layers.Conv2D(32, (3, 3), padding="same", activation="relu"))  # dies
model.add(layers.MaxPooling2D(pool_size=(2, 2)))
model.add(layers.Flatten())
model.add(layers.Dense(32, activation="relu"))
model.add(layers.Dense(2, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="rmsprop")
