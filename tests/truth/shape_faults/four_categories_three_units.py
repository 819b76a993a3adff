# https://whosebug.com/question/3634840/Keras-Dense-Layer-Output-Shape-Error
import numpy as np
from tensorflow.keras.layers import LSTM, Dense, Embedding
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import to_categorical

x_train = np.random.randint(0, 500, size=(60, 20))
y_train = np.random.randint(1, 4, size=60)
y_train = to_categorical(y_train, num_classes=4)

model = Sequential()
model.add(Embedding(500, 32))
model.add(LSTM(32))
model.add(Dense(3, activation="softmax"))  # repaired: model.add(Dense(4, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=1)  # dies
