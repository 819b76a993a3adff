# https://newbe.dev/error-when-checking-target-expected-dense-1-to-have-3-dimensions-but-got-array-with-shape-118-1
import numpy as np
from tensorflow.keras.layers import LSTM, Dense
from tensorflow.keras.models import Sequential

x = np.random.rand(118, 45, 2)
y = np.random.randint(0, 4, size=(118, 4))
model = Sequential()
model.add(LSTM(64, input_shape=(45, 2), return_sequences=True))
model.add(LSTM(64, return_sequences=True))  # repaired: model.add(LSTM(64))
model.add(Dense(4, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam")
model.fit(x, y, epochs=1)  # dies
