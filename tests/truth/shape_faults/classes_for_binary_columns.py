# https://github.com/keras-team/keras/issues/12378
import numpy as np
from tensorflow.keras.layers import Conv1D, Dense, Flatten, LeakyReLU, MaxPooling1D
from tensorflow.keras.models import Sequential

n_timesteps = 177


def build():
    model_m = Sequential()
    model_m.add(Conv1D(filters=4, kernel_size=2, activation="relu", input_shape=(n_timesteps, 1)))
    model_m.add(LeakyReLU())
    model_m.add(MaxPooling1D(2, strides=2))
    model_m.add(Conv1D(10, 4, strides=1))
    model_m.add(MaxPooling1D(2, strides=2))
    model_m.add(Dense(50))
    model_m.add(Flatten())
    model_m.add(Dense(3, activation="softmax"))
    return model_m


X = np.random.rand(300, 177, 1)
y = np.random.randint(0, 3, size=(300, 1))
model = build()
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])  # repaired: model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(X, y, epochs=1, batch_size=30)  # dies
