# https://github.com/tensorflow/tensorflow/issues/5751
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE * 1  # repaired: IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE * 3


def inference(images_placeholder):
    w = tf.Variable(tf.truncated_normal([IMAGE_PIXELS, NUM_CLASSES], stddev=0.1))
    b = tf.Variable(tf.constant(0.1, shape=[NUM_CLASSES]))
    return tf.matmul(images_placeholder, w) + b


train_image = np.random.rand(500, IMAGE_SIZE, IMAGE_SIZE, 3).reshape(500, -1)
train_label = np.eye(NUM_CLASSES)[np.random.randint(0, NUM_CLASSES, 500)]
images_placeholder = tf.placeholder("float", shape=(None, IMAGE_PIXELS))
labels_placeholder = tf.placeholder("float", shape=(None, NUM_CLASSES))
logits = inference(images_placeholder)
loss_value = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels_placeholder))
train_op = tf.train.AdamOptimizer(1e-4).minimize(loss_value)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(10):
    batch = 50 * i
    sess.run(train_op, feed_dict={  # dies
        images_placeholder: train_image[batch:batch + 50],
        labels_placeholder: train_label[batch:batch + 50],
    })
