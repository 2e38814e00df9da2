"""
EM and where it begins
======================

EM never makes the likelihood worse, and ends at an optimum that depends on its start.
So several starts are made, and the best is kept.
"""

# %%
# Documents of four topics, whose words overlap.
import matplotlib.pyplot as plt
import numpy as np

from fastlin import MultinomialMixture
from fastlin.plot import EMBoundDisplay

rng = np.random.default_rng(3)
topics = rng.dirichlet(np.full(60, 0.4), 4)
X = np.array([rng.multinomial(25, topics[rng.integers(4)]) for _ in range(300)])

# %%
# The bound of the best start after each iteration, and where the others ended.
model = MultinomialMixture(4, init="random", n_init=8, alpha=1.0, random_state=0).fit(X)
_, ax = plt.subplots(layout="constrained")
EMBoundDisplay.from_estimator(model, ax=ax)
plt.show()
