"""
Which words speak for a label
=============================

Which package of Python's standard library does a docstring come from?
Tf-idf and logistic regression answer, and the strongest features of each label say why.
"""

# %%
# Documents and labels: the docstrings of the largest packages, with the packages' names masked.
import sysconfig
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline

from fastlin import LogisticRegression, TfidfVectorizer
from fastlin.demo import corpus, part_of
from fastlin.plot import TopFeaturesDisplay

texts, labels = corpus(Path(sysconfig.get_path("stdlib")))
train = [place for place, text in enumerate(texts) if part_of(text) == "train"]
test = [place for place, text in enumerate(texts) if part_of(text) == "test"]
model = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10))
model.fit([texts[place] for place in train], [labels[place] for place in train])
right = model.score([texts[place] for place in test], [labels[place] for place in test])
print(f"{len(train)} docstrings to learn from, accuracy on {len(test)} others: {right:.3f}")

# %%
# The weights of the strongest words.
shown = sorted(set(labels))[:3]
_, axes = plt.subplots(1, len(shown), figsize=(10, 3.5), layout="constrained")
TopFeaturesDisplay.from_estimator(model, n=8, labels=shown, ax=axes)
plt.show()
