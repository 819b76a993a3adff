# https://github.com/keras-team/keras/issues/15521
import tensorflow as tf


class Player:
    def __init__(self):
        self.model = self.build_model()

    def build_model(self):
        inputs = tf.keras.Input(shape=(56,), name="input")
        x = tf.keras.layers.Dense(100, activation="relu", name="denseC1")(inputs)
        x = tf.keras.layers.Dense(50, name="denseC2")(x)
        color = tf.keras.layers.Dense(4, activation="softmax", name="color")(x)
        return tf.keras.models.Model(inputs=inputs, outputs=color)

    def play(self, state):
        return self.model(state)  # dies


player = Player()
state = tf.zeros([56])  # repaired: state = tf.zeros([1, 56])
print(player.play(state))
