# https://github.com/perseus784/BvS/issues/4
import tensorflow as tf

weights = tf.Variable(tf.random.normal([100, 2]))
optimizer = tf.keras.optimizers.SGD(0.1)
for step in range(5):
    features = tf.random.normal([9, 100])
    labels = tf.one_hot([0, 1, 0, 1, 0, 1, 0, 1, 0, 1], 2)  # repaired: labels = tf.one_hot([0, 1, 0, 1, 0, 1, 0, 1, 0], 2)
    with tf.GradientTape() as tape:
        logits = tf.matmul(features, weights)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))  # dies
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
