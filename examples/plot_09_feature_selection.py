"""
A model of few features
=======================

Most of the words of a text are noise.
Greedy induction adds the features that gain most, and fits the whole model again after each round.
"""

# %%
# 300 features, of which six decide, among noise; half of the rows are held out.
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from fastlin.plot import SelectionCurveDisplay
from fastlin.select import SelectFeatures

rng = np.random.default_rng(0)
X = sparse.csr_array((rng.random((1200, 300)) < 0.15).astype(float))
true = np.r_[3.0, -3.0, 2.5, -2.0, 2.0, -1.5, np.zeros(294)]
y = (X @ true + rng.logistic(size=1200) > 0).astype(int)
selector = SelectFeatures(n_features=25, C=1.0, step=1).fit(X[:600], y[:600], X_val=X[600:], y_val=y[600:])
print("the first six:", sorted(selector.order_[:6].tolist()))

# %%
# The accuracy on rows held out, as features are added: all that there is to gain is in the first few.
SelectionCurveDisplay.from_estimator(selector, value="validation_score")
plt.show()
