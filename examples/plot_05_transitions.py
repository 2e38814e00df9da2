"""
What may follow what
====================

The weights of a CRF's transitions, as a heat map: which label likes to stand behind which.
"""

# %%
# Chunks in BIO: an I stands behind a B or an I of its own type, which a CRF learns from the data.
import matplotlib.pyplot as plt

from fastlin.plot import TransitionsDisplay
from fastlin.sequence import CRF

sentences = [
    ("the big dog chased a cat", "B-NP I-NP I-NP B-VP B-NP I-NP"),
    ("she has slept in the house", "B-NP B-VP I-VP O B-NP I-NP"),
    ("dogs bark at the old moon", "B-NP B-VP O B-NP I-NP I-NP"),
    ("he will have seen it", "B-NP B-VP I-VP I-VP B-NP"),
    ("a cat slept on the mat", "B-NP I-NP B-VP O B-NP I-NP"),
]
words, tags = ([line.split() for line in column] for column in zip(*sentences, strict=True))
model = CRF(c2=0.1, transitions="dense").fit(words, tags)

# %%
# From the row to the column.
_, ax = plt.subplots(figsize=(6, 5), layout="constrained")
TransitionsDisplay.from_estimator(model, ax=ax)
plt.show()
