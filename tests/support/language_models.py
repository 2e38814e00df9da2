"""Corpora and models for the tests of fastlin.lm."""

import warnings

import numpy as np
from hypothesis import strategies as st

from fastlin.lm import NgramModel

TWINS = (
    "modified_kneser_ney", "kneser_ney", "absolute_discounting", "witten_bell", "katz", "dirichlet",
)  # fmt: skip
ALL = (*TWINS, "lidstone", "laplace")
SENTENCES = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=7), min_size=1, max_size=25)
CORPUS = [line.split() for line in ("the cat sat on the mat", "the dog sat", "a cat ran", "a dog ran on the mat", "")]


def quiet(*args, **kwargs):
    """A fitted model, whose counts may be too few for its discounts."""
    sentences = args[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = NgramModel(*args[:-1], **kwargs).fit(sentences)
        model.n_grams_  # noqa: B018
    return model


def arrays(model):
    found = model._backoff_model
    lists = found.words, found.starts, found.suffix, found.log_prob, found.backoff
    return [found.vocabulary.names, *(array.tobytes() for each in lists for array in each)]


def random_corpus(seed, n=200):
    rng = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(60)]
    weights = 1 / np.arange(1, 61)
    return [rng.choice(words, size=rng.integers(0, 12), p=weights / weights.sum()).tolist() for _ in range(n)]
