# https://github.com/ageron/handson-ml/issues/236
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
n_inputs, n_hidden1, n_outputs, batch_size = 28 * 28, 300, 10, 50
(X_train, y_train), (X_test, y_test) = tf.keras.datasets.mnist.load_data()
X_train = X_train.astype(np.float32).reshape(-1, 28, 28) / 255.0  # repaired: X_train = X_train.astype(np.float32).reshape(-1, 28 * 28) / 255.0
y_train = y_train.astype(np.int32)

X = tf.placeholder(tf.float32, shape=(None, n_inputs), name="X")
y = tf.placeholder(tf.int32, shape=(None), name="y")
W1 = tf.Variable(tf.truncated_normal((n_inputs, n_hidden1), stddev=0.05))
W2 = tf.Variable(tf.truncated_normal((n_hidden1, n_outputs), stddev=0.05))
hidden1 = tf.nn.relu(tf.matmul(X, W1))
logits = tf.matmul(hidden1, W2)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
training_op = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

with tf.Session() as sess:
    tf.global_variables_initializer().run()
    for epoch in range(2):
        for i in range(4):
            X_batch, y_batch = X_train[i * batch_size:(i + 1) * batch_size], y_train[i * batch_size:(i + 1) * batch_size]
            sess.run(training_op, feed_dict={X: X_batch, y: y_batch})  # dies
