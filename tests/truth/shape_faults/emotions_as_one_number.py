# https://github.com/keras-team/keras/issues/8755
import numpy as np
from tensorflow.keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPool2D
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import to_categorical

X_train = np.random.rand(100, 2304).astype("float32")
Y_train = np.random.randint(0, 7, 100)
X_train = X_train.reshape(-1, 48, 48, 1)
Y_train = to_categorical(Y_train, num_classes=7)

model = Sequential()
model.add(Conv2D(filters=32, kernel_size=(5, 5), padding="Same", activation="relu", input_shape=(48, 48, 1)))
model.add(MaxPool2D(pool_size=(2, 2)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(256, activation="relu"))
model.add(Dense(1, activation="sigmoid"))  # repaired: model.add(Dense(7, activation="softmax"))
model.compile(optimizer="rmsprop", loss="binary_crossentropy", metrics=["accuracy"])  # repaired: model.compile(optimizer="rmsprop", loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(X_train, Y_train, batch_size=10, epochs=1)  # dies
