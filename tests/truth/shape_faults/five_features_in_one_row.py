# https://github.com/tum-pbs/pbdl-book/pull/10
import numpy as np
import tensorflow as tf

X = np.random.rand(200, 3)
Y = X.sum(axis=1, keepdims=True)
nn_model = tf.keras.Sequential([
    tf.keras.layers.Input(shape=(1,)),  # repaired: tf.keras.layers.Input(shape=(3,)),
    tf.keras.layers.Dense(10, activation="relu"),
    tf.keras.layers.Dense(1),
])
nn_model.compile(optimizer=tf.keras.optimizers.Adam(0.001), loss=tf.keras.losses.MeanSquaredError())
results = nn_model.fit(X, Y, epochs=2, batch_size=10, verbose=1)  # dies
