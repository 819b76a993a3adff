# https://github.com/tensorflow/tensorflow/issues/46794
import tensorflow as tf
from tensorflow.keras.layers import Conv2D, Input, LSTM

inputs_p = Input(shape=(5, 4, 85))
features = Conv2D(64, (2, 1), activation="relu")(inputs_p)
# repaired: features = tf.keras.layers.Reshape((16, 64))(features)
enc = LSTM(32, activation="tanh", return_state=True, return_sequences=True, name="encoder1_")
decoder_outputs, state_h, state_c = enc(features)  # dies
model = tf.keras.Model(inputs_p, decoder_outputs)
