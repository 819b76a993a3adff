# https://github.com/lukas/ml-class/issues/57
import numpy as np
from tensorflow.keras.datasets import mnist
from tensorflow.keras.layers import Dense, Flatten
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import to_categorical

(X_train, y_train), (X_test, y_test) = mnist.load_data()
X_train = X_train.reshape(60000, 784) / 255.0  # repaired: X_train = X_train / 255.0
y_train = to_categorical(y_train, 10)

model = Sequential()
model.add(Flatten(input_shape=(28, 28)))
model.add(Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=1, batch_size=128)  # dies
