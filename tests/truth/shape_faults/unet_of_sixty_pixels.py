# https://github.com/zhixuhao/unet/issues/209
from tensorflow.keras.layers import Concatenate, Conv2D, Dropout, Input, MaxPooling2D, UpSampling2D
from tensorflow.keras.models import Model


def unet(input_size=(60, 60, 1)):  # repaired: def unet(input_size=(64, 64, 1)):
    inputs = Input(input_size)
    conv1 = Conv2D(16, 3, activation="relu", padding="same", kernel_initializer="he_normal")(inputs)
    pool1 = MaxPooling2D(pool_size=(2, 2))(conv1)
    conv2 = Conv2D(32, 3, activation="relu", padding="same")(pool1)
    pool2 = MaxPooling2D(pool_size=(2, 2))(conv2)
    conv3 = Conv2D(64, 3, activation="relu", padding="same")(pool2)
    drop3 = Dropout(0.5)(conv3)
    pool3 = MaxPooling2D(pool_size=(2, 2))(drop3)
    conv4 = Conv2D(128, 3, activation="relu", padding="same")(pool3)
    up5 = Conv2D(64, 2, activation="relu", padding="same")(UpSampling2D(size=(2, 2))(conv4))
    merge5 = Concatenate(axis=3)([drop3, up5])  # dies
    conv5 = Conv2D(64, 3, activation="relu", padding="same")(merge5)
    up6 = Conv2D(32, 2, activation="relu", padding="same")(UpSampling2D(size=(2, 2))(conv5))
    merge6 = Concatenate(axis=3)([conv2, up6])
    conv7 = Conv2D(1, 1, activation="sigmoid")(merge6)
    return Model(inputs, conv7)


model = unet()
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
