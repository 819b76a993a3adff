# https://github.com/tensorflow/tensorflow/issues/46478
import numpy as np
from tensorflow.keras.layers import Conv1D, Dense, Embedding, Flatten, MaxPooling1D
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.sequence import pad_sequences

sequences = [list(range(1, 10)), list(range(3, 40))] * 20
X = pad_sequences(sequences, maxlen=934)  # repaired: X = pad_sequences(sequences, maxlen=28)
Y = np.random.rand(40, 2)

model = Sequential()
model.add(Embedding(5000, 32, input_length=28))
model.add(Conv1D(16, 5, padding="same", activation="relu"))
model.add(MaxPooling1D(2))
model.add(Flatten())
model.add(Dense(10, activation="relu"))
model.add(Dense(2, activation="softmax"))
model.build((None, 28))
model.compile(loss="categorical_crossentropy", optimizer="adam")
model.fit(X, Y, epochs=1, batch_size=8, verbose=1)  # dies
