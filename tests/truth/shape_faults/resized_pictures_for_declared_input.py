# https://github.com/keras-team/keras/issues/19367
import numpy as np
from tensorflow.keras.layers import Conv2D, Dense, Flatten, MaxPool2D
from tensorflow.keras.models import Sequential

training_set = np.random.rand(8, 256, 256, 3).astype("float32")  # repaired: training_set = np.random.rand(8, 128, 128, 3).astype("float32")
labels = np.random.rand(8, 38)

cnn = Sequential()
cnn.add(Conv2D(filters=32, kernel_size=3, padding="same", activation="relu", input_shape=[128, 128, 3]))
cnn.add(MaxPool2D(pool_size=2, strides=2))
cnn.add(Conv2D(filters=16, kernel_size=3, padding="same", activation="relu"))
cnn.add(MaxPool2D(pool_size=2, strides=4))
cnn.add(Flatten())
cnn.add(Dense(units=38, activation="softmax"))
cnn.compile(optimizer="adam", loss="categorical_crossentropy")
history = cnn.fit(training_set, labels, epochs=1, batch_size=4)  # dies
