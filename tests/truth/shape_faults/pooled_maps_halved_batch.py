# https://github.com/tensorflow/models/issues/6036
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [32, 784])
y_ = tf.placeholder(tf.float32, [32, 48], name="truth")
conv1_weights = tf.get_variable(name="c1", shape=[3, 3, 1, 32])
x_image = tf.reshape(x, [-1, 28, 28, 1])
c1 = tf.nn.relu(tf.nn.conv2d(x_image, conv1_weights, strides=[1, 1, 1, 1], padding="SAME"))
p1 = tf.nn.max_pool(c1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
flat = tf.reshape(p1, [-1, 7 * 14 * 32])  # repaired: flat = tf.reshape(p1, [-1, 14 * 14 * 32])
fc_weights = tf.get_variable(name="f1", shape=[7 * 14 * 32, 48])  # repaired: fc_weights = tf.get_variable(name="f1", shape=[14 * 14 * 32, 48])
logits = tf.matmul(flat, fc_weights)
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=y_))  # dies
train_step = tf.train.AdamOptimizer(1e-3).minimize(loss)
