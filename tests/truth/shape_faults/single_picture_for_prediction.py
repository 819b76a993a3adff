# https://openillumi.com/keras-predict-shape-error-numpy-fix
import numpy as np
from tensorflow.keras.layers import Dense, Dropout
from tensorflow.keras.models import Sequential

model = Sequential()
model.add(Dense(512, activation="relu", input_shape=(784,)))
model.add(Dropout(0.2))
model.add(Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="rmsprop")

canvas = np.zeros((28, 28))
pixels = canvas.reshape(784, 1)  # repaired: pixels = canvas.reshape(1, 784)
result = model.predict(pixels)  # dies
print(np.argmax(result))
