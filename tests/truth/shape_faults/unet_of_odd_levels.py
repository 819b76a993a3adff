# https://github.com/keras-team/keras/issues/19964
import tensorflow as tf


def unet(n_levels, initial_features=8, n_blocks=2, kernel_size=3, pooling_size=2, in_channels=1, out_channels=1):
    inputs = tf.keras.layers.Input(shape=(358, 358, in_channels))  # repaired: inputs = tf.keras.layers.Input(shape=(256, 256, in_channels))
    x = inputs
    convpars = dict(kernel_size=kernel_size, activation="relu", padding="same")
    skips = {}
    for level in range(n_levels):
        for _ in range(n_blocks):
            x = tf.keras.layers.Conv2D(initial_features * 2 ** level, **convpars)(x)
        if level < n_levels - 1:
            skips[level] = x
            x = tf.keras.layers.MaxPool2D(pooling_size)(x)
    for level in reversed(range(n_levels - 1)):
        x = tf.keras.layers.Conv2DTranspose(initial_features * 2 ** level, strides=pooling_size, **convpars)(x)
        x = tf.keras.layers.Concatenate()([x, skips[level]])  # dies
    x = tf.keras.layers.Conv2D(out_channels, kernel_size=1, activation="sigmoid", padding="same")(x)
    return tf.keras.Model(inputs=[inputs], outputs=[x])


model = unet(4)
model.compile(optimizer="adam", loss="binary_crossentropy")
