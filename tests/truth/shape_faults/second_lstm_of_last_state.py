# https://github.com/shreyans29/thesemicolon/issues/5
import numpy as np
from tensorflow.keras.layers import Dense, LSTM
from tensorflow.keras.models import Sequential

x_train = np.random.rand(80, 15, 300)
y_train = np.random.rand(80, 300)

model = Sequential()
model.add(LSTM(300, input_shape=x_train.shape[1:], activation="sigmoid"))  # repaired: model.add(LSTM(300, input_shape=x_train.shape[1:], return_sequences=True, activation="sigmoid"))
model.add(LSTM(300, activation="sigmoid"))  # dies
model.add(Dense(300))
model.compile(loss="cosine_similarity", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=5, validation_split=0.2)
