# https://github.com/qubvel/segmentation_models/issues/154
from tensorflow.keras.layers import Activation, BatchNormalization, Conv2D, Conv2DTranspose, Cropping2D, Input, MaxPooling2D, concatenate
from tensorflow.keras.models import Model

inputs = Input(shape=(140, 140, 3))
conv1 = Conv2D(filters=16, kernel_size=(3, 3), strides=(1, 1))(inputs)
conv1 = BatchNormalization()(conv1)
conv1 = Activation("relu")(conv1)
pool1 = MaxPooling2D(pool_size=(2, 2), strides=(2, 2), padding="same")(conv1)
conv2 = Conv2D(filters=32, kernel_size=(3, 3), strides=(1, 1))(pool1)
conv2 = Activation("relu")(conv2)
up1 = Conv2DTranspose(16, (2, 2), strides=(2, 2))(conv2)
merged = concatenate([up1, conv1], axis=3)  # dies  # repaired: merged = concatenate([up1, Cropping2D(2)(conv1)], axis=3)
outputs = Conv2D(2, 1)(merged)
model = Model(inputs, outputs)
