# https://github.com/abhaydoke09/Bilinear-CNN-TensorFlow/issues/23
import tensorflow as tf

W1 = tf.Variable(tf.random.normal([784, 256]))
b1 = tf.Variable(tf.zeros([256]))
W2 = tf.Variable(tf.random.normal([128, 10]))  # repaired: W2 = tf.Variable(tf.random.normal([256, 10]))
b2 = tf.Variable(tf.zeros([10]))
optimizer = tf.keras.optimizers.SGD(0.01)


def forward(x):
    h = tf.nn.relu(tf.matmul(x, W1) + b1)
    return tf.matmul(h, W2) + b2  # dies


for step in range(10):
    x = tf.random.uniform([32, 784])
    y = tf.one_hot(tf.random.uniform([32], maxval=10, dtype=tf.int32), 10)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=forward(x)))
    variables = [W1, b1, W2, b2]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
