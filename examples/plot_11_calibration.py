"""
Are the probabilities meant?
============================

Of all documents whose label has the probability 0.8, 80 % should have that label.
Logistic regression is calibrated by what it minimises.
Naive Bayes counts dependent words as if they were independent, and is too sure of itself.
"""

# %%
# Labels depend on a hidden number, and ten groups of five words say the same thing five times.
import matplotlib.pyplot as plt
import numpy as np

from fastlin import LogisticRegression, MultinomialNB
from fastlin.plot import CalibrationDisplay

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 4000)
speaks_for = np.arange(10) % 2  # every other group is more frequent under the label 1
groups = rng.random((4000, 10)) < np.where(y[:, None] == speaks_for, 0.5, 0.35)
X = np.repeat(groups, 5, axis=1).astype(float)

# %%
# On rows that neither has seen.
figure, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
for model in (LogisticRegression(), MultinomialNB()):
    CalibrationDisplay.from_estimator(model.fit(X[:2000], y[:2000]), X[2000:], y[2000:], ax=ax)
plt.show()
