# https://codemia.io/knowledge-hub/path/keras_error_expected_dense_input_1_to_have_3_dimensions
import numpy as np
from tensorflow.keras import Sequential
from tensorflow.keras.layers import LSTM, Dense

x = np.random.rand(32, 80)
y = np.random.rand(32, 1)
# repaired: x = x.reshape(-1, 10, 8)
model = Sequential([LSTM(16, input_shape=(10, 8)), Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, epochs=1)  # dies
