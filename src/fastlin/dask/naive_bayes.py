"""Naive Bayes on a cluster: a round that counts."""

from fastlin.dask.estimators import ClusterClassifier
from fastlin.naive_bayes import bernoulli, complement, multinomial


class MultinomialNB(ClusterClassifier, multinomial.MultinomialNB):
    """`fastlin.MultinomialNB` of a stored corpus that the workers of a Dask cluster count, in the same bits."""


class ComplementNB(ClusterClassifier, complement.ComplementNB):
    """`fastlin.ComplementNB` of a stored corpus that the workers of a Dask cluster count, in the same bits."""


class BernoulliNB(ClusterClassifier, bernoulli.BernoulliNB):
    """`fastlin.BernoulliNB` of a stored corpus that the workers of a Dask cluster count, in the same bits."""
