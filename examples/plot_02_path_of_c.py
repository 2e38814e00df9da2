"""
A path of C
===========

How strong should the prior be?
`LogisticRegressionCV` fits every value of C on every fold, each to its optimum; the curve says which predicts best.
"""

# %%
# Documents of random words, of which 20 say something about the label.
import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from fastlin import LogisticRegressionCV
from fastlin.plot import RegularizationPathDisplay

rng = np.random.default_rng(0)
X = sparse.csr_array(rng.poisson(0.3, (600, 400)).astype(float))
weights = np.zeros(400)
weights[:20] = rng.normal(0, 1.5, 20)
y = (X @ weights + rng.logistic(size=600) > 0).astype(int)

# %%
# Too small a C underfits, too large a one believes every word of the noise.
model = LogisticRegressionCV(Cs=np.logspace(-3, 3, 13), cv=4, tol=1e-6, max_iter=1000).fit(X, y)
print("chosen: C =", model.C_)
RegularizationPathDisplay.from_estimator(model)
plt.show()
