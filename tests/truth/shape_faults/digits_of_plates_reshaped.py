# https://github.com/matthewearl/deep-anpr/issues/104
import tensorflow as tf


def get_loss(y, y_):
    digits_loss = tf.nn.softmax_cross_entropy_with_logits(
        logits=tf.reshape(y[:, 1:], [-1, 36]), labels=tf.reshape(y_[:, 1:], [-1, 36]))
    digits_loss = tf.reshape(digits_loss, [-1, 8])  # dies  # repaired: digits_loss = tf.reshape(digits_loss, [-1, 7])
    return tf.reduce_sum(digits_loss)


y = tf.random.normal([10, 253])
y_ = tf.zeros([10, 253])
print(get_loss(y, y_))
