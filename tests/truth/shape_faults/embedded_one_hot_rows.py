# https://github.com/keras-team/tf-keras/issues/440
from tensorflow.keras.layers import Concatenate, Dense, Dropout, Embedding, Flatten, Input, LSTM
from tensorflow.keras.models import Model


def define_model(vocab_size, max_length):
    input_texts = Input(shape=(max_length, vocab_size))  # repaired: input_texts = Input(shape=(max_length,))
    embed = Embedding(vocab_size, 200)(input_texts)
    drop1 = Dropout(0.5)(embed)
    lstm1 = LSTM(256, return_sequences=True)(drop1)  # dies
    flatten = Flatten()(lstm1)
    dense1 = Dense(10, activation="relu")(flatten)
    input_parties = Input(shape=(1,))
    concat = Concatenate()([dense1, input_parties])
    outputs = Dense(vocab_size, activation="softmax")(concat)
    return Model(inputs=[input_texts, input_parties], outputs=outputs)


model = define_model(907, 72)
model.compile(loss="categorical_crossentropy", optimizer="adam")
