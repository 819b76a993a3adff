# https://github.com/divamgupta/image-segmentation-keras/issues/283
import tensorflow as tf
from tensorflow.keras import layers

IMAGE_H, IMAGE_W = 904, 602  # repaired: IMAGE_H, IMAGE_W = 904, 600


def encoder(inputs):
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    f1 = layers.MaxPooling2D((2, 2))(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(f1)
    f2 = layers.MaxPooling2D((2, 2))(x)
    return f1, f2


def decoder(f1, f2, n_classes):
    o = layers.Conv2D(32, 3, padding="same")(f2)
    o = layers.UpSampling2D((2, 2))(o)
    o = layers.concatenate([o, f1], axis=-1)  # dies
    return layers.Conv2D(n_classes, 1)(o)


inputs = tf.keras.Input((IMAGE_H, IMAGE_W, 3))
model = tf.keras.Model(inputs, decoder(*encoder(inputs), n_classes=5))
