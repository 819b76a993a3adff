# https://github.com/titu1994/keras-coordconv/issues/3
import tensorflow as tf
from tensorflow.keras import layers


class Encoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(32, (3, 3), padding="same", activation="relu")
        self.conv2 = layers.Conv2D(64, (3, 3), padding="same", activation="relu")
        self.pool = layers.GlobalAveragePooling2D()
        self.head = layers.Dense(10)

    def call(self, x):
        x = self.conv1(x)  # dies
        x = self.conv2(x)
        return self.head(self.pool(x))


(x_train, y_train), _ = tf.keras.datasets.fashion_mnist.load_data()
x_train = x_train.astype("float32") / 255.0
# repaired: x_train = x_train[..., tf.newaxis]
model = Encoder()
optimizer = tf.keras.optimizers.Adam()
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for x, y in tf.data.Dataset.from_tensor_slices((x_train[:640], y_train[:640])).batch(64):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
