"""
Learning from a stream
======================

Online learners see each row once.
Progressive validation predicts every row before it is learnt from: an honest curve that needs no rows held out.
"""

# %%
# A stream of sparse rows, in pieces.
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from fastlin import AROWClassifier, PassiveAggressiveClassifier, Perceptron, SGDClassifier

rng = np.random.default_rng(0)
X = sparse.csr_array((rng.random((20000, 500)) < 0.03) * rng.exponential(size=(20000, 500)))
y = (X @ rng.normal(size=500) + 0.3 * rng.normal(size=20000) > 0).astype(int)
learners = {
    "perceptron, averaged": Perceptron(average=True), "PA-I": PassiveAggressiveClassifier(C=0.1),
    "AROW": AROWClassifier(), "SGD, Adagrad": SGDClassifier(loss="log_loss", learning_rate="adagrad", eta0=1.0),
}  # fmt: skip

# %%
# The share predicted right of each piece, before it was learnt from.
figure, ax = plt.subplots(layout="constrained")
for name, learner in learners.items():
    right = []
    for start in range(0, 20000, 500):
        learner = learner.partial_fit(X[start : start + 500], y[start : start + 500])
        right.append(learner.history_[-1]["progressive_accuracy"])
    ax.plot(np.arange(500, 20001, 500), right, label=name)
ax.set(xlabel="rows seen", ylabel="accuracy on the next 500 rows")
ax.legend()
plt.show()
