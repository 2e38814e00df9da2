"""The learners of sparse rows on a Dask cluster: `pip install 'fastlin[dask]'`.

Workers read a stored `Corpus` by its path, and the model is that of one process, bit for bit, however many workers
there are, and whichever of them die. docs/cluster.md is the guide.
"""

try:
    import distributed as _distributed  # noqa: F401

    import dask as _dask  # noqa: F401
except ImportError as error:
    raise ImportError("fastlin.dask needs dask and distributed: pip install 'fastlin[dask]'") from error

from fastlin.dask.cluster import ClusterError
from fastlin.dask.logistic import LogisticRegression
from fastlin.dask.mixture import MultinomialMixture
from fastlin.dask.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

__all__ = ["BernoulliNB", "ClusterError", "ComplementNB", "LogisticRegression", "MultinomialMixture", "MultinomialNB"]
