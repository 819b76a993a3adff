# https://node-js.developreference.com/article/10496769/keras+input+not+matching+output+confusion
import numpy as np
from tensorflow import keras
from tensorflow.keras.layers import Concatenate, Dense, Flatten, Input, Lambda
from tensorflow.keras.models import Model

rinputs = Input(shape=(3, 2), name="inputlayer")
scores = Dense(1, activation="sigmoid")(rinputs)
# repaired: scores = Flatten()(scores)
softmax_layer = Dense(3, activation="softmax", name="softmax")(scores)
model = Model(inputs=rinputs, outputs=softmax_layer)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
inputs = np.asarray([[[1, 5], [4, 1], [6, 7]], [[6, 7], [1, 5], [4, 1]]], dtype="float32")
ytrue = np.asarray([[1, 0, 0], [0, 0, 1]])
model.fit(inputs, ytrue, verbose=True)  # dies
