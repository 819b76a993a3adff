# https://github.com/tensorflow/tensorflow/issues/46076
import numpy as np
import tensorflow as tf

X = np.random.rand(152, 7, 169)
y = np.random.randint(0, 2, size=(152, 1))
# repaired: X = X.transpose(0, 2, 1)
model = tf.keras.models.Sequential([
    tf.keras.layers.Dense(16, input_shape=(169, 7), activation="relu"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(X, y, epochs=1)  # dies
