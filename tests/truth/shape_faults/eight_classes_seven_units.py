# https://github.com/tensorflow/tensorflow/issues/52060
import numpy as np
import tensorflow as tf

images = np.random.rand(64, 48, 48, 1).astype("float32")
labels = tf.keras.utils.to_categorical(np.arange(64) % 8, 8)
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(64).batch(16)

model = tf.keras.Sequential([
    tf.keras.layers.Input(shape=(48, 48, 1)),
    tf.keras.layers.Conv2D(16, 3, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(7, activation="softmax"),  # repaired: tf.keras.layers.Dense(8, activation="softmax"),
])
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=1)  # dies
