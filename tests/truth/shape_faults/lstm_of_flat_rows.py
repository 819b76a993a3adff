# https://github.com/keras-team/keras/issues/16764
import numpy as np
import tensorflow as tf

x_train = np.random.rand(700, 57)
y_train = np.random.randint(0, 10, size=(700,))
# repaired: x_train = x_train.reshape(700, 1, 57)

model = tf.keras.Sequential()
model.add(tf.keras.layers.LSTM(64, input_shape=(700, 57), return_sequences=True))  # repaired: model.add(tf.keras.layers.LSTM(64, input_shape=(1, 57), return_sequences=True))
model.add(tf.keras.layers.LSTM(64))
model.add(tf.keras.layers.Dense(64, activation="relu"))
model.add(tf.keras.layers.Dense(10, activation="softmax"))
model.compile(optimizer=tf.keras.optimizers.Adam(0.001), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=32, epochs=2, verbose=2)  # dies
