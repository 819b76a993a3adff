# https://github.com/c1mone/Tensorflow-101/issues/6
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, shape=[None, 1024])
y_ = tf.placeholder(tf.float32, shape=[None, 5])
x_image = tf.reshape(x, [-1, 32, 32, 1])
W_conv1 = tf.Variable(tf.truncated_normal([5, 5, 1, 32], stddev=0.1))
h_conv1 = tf.nn.relu(tf.nn.conv2d(x_image, W_conv1, strides=[1, 1, 1, 1], padding="SAME"))
h_pool1 = tf.nn.max_pool(h_conv1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
W_fc = tf.Variable(tf.truncated_normal([16 * 16 * 32, 5], stddev=0.1))
logits = tf.matmul(tf.reshape(h_pool1, [-1, 16 * 16 * 32]), W_fc)
correct = tf.equal(tf.argmax(logits, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    picture = np.zeros((1, 32, 32, 1))  # repaired: picture = np.zeros((1, 1024))
    label = np.array([[1, 0, 0, 0, 0]])
    print(sess.run(accuracy, feed_dict={x: picture, y_: label}))  # dies
