"""
Clusters of documents
=====================

Spherical k-means of tf-idf rows: documents that point in the same direction belong together.
Which packages of the standard library are in which cluster?
"""

# %%
import sysconfig
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import v_measure_score

from fastlin import KMeans, TfidfVectorizer
from fastlin.demo import corpus

texts, labels = corpus(Path(sysconfig.get_path("stdlib")))
vectorizer = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.2, sublinear_tf=True)
X = vectorizer.fit_transform(texts)
model = KMeans(6, metric="spherical", n_init=5, random_state=0).fit(X)
print(f"V measure: {v_measure_score(labels, model.labels_):.2f}")

# %%
# A column for each cluster, named after the words that weigh most in its centre.
names = vectorizer.get_feature_names_out()
titles = [" ".join(names[np.argsort(-centre)[:3]]) for centre in model.cluster_centers_]
packages = sorted(set(labels))
counts = np.array([[np.sum((np.array(labels) == p) & (model.labels_ == k)) for k in range(6)] for p in packages])
shares = counts / counts.sum(axis=1, keepdims=True)
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
image = ax.imshow(shares, cmap="Greens", vmin=0, vmax=1, aspect="auto")
ax.set_xticks(range(6), titles, rotation=35, ha="right")
ax.set_yticks(range(len(packages)), packages)
figure.colorbar(image, label="share of the package's docstrings")
plt.show()
