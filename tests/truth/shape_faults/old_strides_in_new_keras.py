# https://github.com/keras-team/keras/issues/16826
from tensorflow.keras.layers import Conv2D, Input, MaxPooling2D, UpSampling2D, concatenate
from tensorflow.keras.models import Model

config = {"input_shape": (256, 256, 1)}
inputs = Input(shape=config["input_shape"])
conv1 = Conv2D(32, 3, padding="same", kernel_initializer="he_normal")(inputs)
pool1 = MaxPooling2D(pool_size=(2, 2))(conv1)
conv2 = Conv2D(64, 3, 3, padding="same", kernel_initializer="he_normal")(pool1)  # repaired: conv2 = Conv2D(64, 3, padding="same", kernel_initializer="he_normal")(pool1)
up3 = UpSampling2D(size=(2, 2))(conv2)
merge3 = concatenate([up3, conv1], axis=-1)  # dies
conv3 = Conv2D(1, 1, activation="sigmoid")(merge3)
model = Model(inputs=inputs, outputs=conv3)
model.compile(optimizer="adam", loss="binary_crossentropy")
