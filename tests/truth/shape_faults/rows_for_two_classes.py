# https://github.com/tensorflow/tensorflow/issues/5905
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def init_weights(shape):
    return tf.Variable(tf.random_normal(shape, stddev=0.01))


def model(X, w):
    return tf.matmul(X, w)


trX = np.random.rand(256, 12)
trY = np.random.randint(0, 2, size=256)  # repaired: trY = np.eye(2)[np.random.randint(0, 2, size=256)]
X = tf.placeholder("float", [None, 12])
Y = tf.placeholder("float", [None, 2])
w = init_weights([12, 2])
py_x = model(X, w)
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=py_x, labels=Y))
train_op = tf.train.GradientDescentOptimizer(0.05).minimize(cost)

with tf.Session() as sess:
    tf.global_variables_initializer().run()
    for i in range(10):
        for start, end in zip(range(0, len(trX), 128), range(128, len(trX) + 1, 128)):
            sess.run(train_op, feed_dict={X: trX[start:end], Y: trY[start:end]})  # dies
