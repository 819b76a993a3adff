# https://github.com/tensorflow/tensorflow/issues/48138
import numpy as np

X = np.random.randn(60, 5)
y = np.random.randn(60)
w = np.zeros(6)  # repaired: w = np.zeros(5)
for epoch in range(100):
    prediction = X @ w  # dies
    gradient = X.T @ (prediction - y) / len(y)
    w -= 0.1 * gradient
