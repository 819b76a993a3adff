# https://github.com/keras-team/keras/issues/12622
from tensorflow.keras.layers import Activation, BatchNormalization, Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from tensorflow.keras.models import Model


def create_cnn(width, height, depth, filters=(16, 32, 64)):
    inputs = Input(shape=(height, width, depth))
    x = inputs
    for (i, f) in enumerate(filters):
        x = Conv2D(f, (3, 3), padding="same")(x)  # dies
        x = Activation("relu")(x)
        x = BatchNormalization(axis=-1)(x)
        x = MaxPooling2D(pool_size=(2, 2))(x)
        x = Flatten()(x)  # repaired:
    # repaired: x = Flatten()(x)
    x = Dense(16)(x)
    x = Activation("relu")(x)
    x = Dropout(0.5)(x)
    x = Dense(4, activation="relu")(x)
    return Model(inputs, x)


model = create_cnn(64, 64, 3)
model.compile(loss="mse", optimizer="adam")
