# https://github.com/aqibsaeed/Human-Activity-Recognition-using-CNN/issues/14
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
X = tf.placeholder(tf.float32, shape=[None, 90])
Y = tf.placeholder(tf.float32, shape=[None, 6])
W = tf.Variable(tf.zeros([90, 6]))
b = tf.Variable(tf.zeros([6]))
logits = tf.matmul(X, W) + b
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=Y))
optimizer = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for epoch in range(8):
        batch_x = np.random.rand(10, 90)
        batch_y = np.random.randint(0, 6, size=(10, 1))  # repaired: batch_y = np.eye(6)[np.random.randint(0, 6, size=10)]
        _, c = session.run([optimizer, loss], feed_dict={X: batch_x, Y: batch_y})  # dies
