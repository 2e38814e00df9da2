"""Back-off models with one of 256 probabilities for each n-gram, whose distributions sum to one all the same."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.lm import smoothing as engine
from fastlin.lm.arpa import ZERO
from fastlin.lm.backoff import CODES, BackoffModel, CodedLogarithms
from fastlin.lm.pruning import shorter

LLOYD_STEPS = 20
BINS = 512
LEAST = 1e-9  # left to the words that do not follow a history: a smaller difference has no digits


def coded(model: BackoffModel) -> BackoffModel | None:
    """The model with codes for the probabilities of its n-grams; those of words stay as they are.

    The codes of a history's words are rounded to where their sum comes nearest to what it was, and back-off weights are
    computed anew, of what is left by them. None: nothing is left after some history, and no weight could mend its sum.
    """
    values: list[NDArray[np.float32]] = [model.log_prob[0]]
    codes: list[NDArray[np.uint8] | None] = [None]
    backoff = list(model.backoff)
    found = model
    for n in range(1, model.order):
        p, histories = np.exp(model.log_prob[n].astype(np.float64)), model.histories(n)
        size, followed = len(backoff[n - 1]), np.diff(model.starts[n]) > 0
        left = 1 - np.bincount(histories, p, size)
        left_shorter = 1 - np.bincount(histories, np.exp(shorter(found, n)), size)
        if model.log_prob[n].min(initial=0) <= ZERO or np.minimum(left, left_shorter)[followed].min(initial=1) < LEAST:
            return None
        own, codes_of_order = model.log_prob[n], None
        if len(p) > CODES:
            own, codes_of_order = _codebook(model.log_prob[n])
            centres = np.exp(own.astype(np.float64))
            if not engine.round_codes(model.starts[n], p, centres, codes_of_order):
                return None
            left = 1 - np.bincount(histories, centres[codes_of_order], size)
        backoff[n - 1] = backoff[n - 1].copy()
        backoff[n - 1][followed] = np.log(left[followed] / left_shorter[followed])
        values.append(own)
        codes.append(codes_of_order)
        logarithms = [*CodedLogarithms(values, codes), *model.log_prob[n + 1 :]]
        found = replace(model, log_prob=logarithms, backoff=backoff)
    return replace(model, log_prob=CodedLogarithms(values, codes), backoff=backoff)


def _codebook(values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """256 values, and which each of the given ones is nearest to: Lloyd's algorithm."""
    ordered = np.sort(values).astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    distinct = np.unique(ordered)
    if len(distinct) <= CODES:
        centres = np.concatenate([distinct, np.full(CODES - len(distinct), distinct[-1])])
    else:
        centres = _by_density(ordered)
        for _ in range(LLOYD_STEPS):
            cuts = np.concatenate([[0], np.searchsorted(ordered, (centres[1:] + centres[:-1]) / 2), [len(ordered)]])
            sizes = np.diff(cuts)
            centres = np.where(sizes > 0, np.diff(sums[cuts]) / np.maximum(sizes, 1), centres)
    centres = np.minimum(centres, 0).astype(np.float32)
    return centres, np.searchsorted((centres[1:] + centres[:-1]) / 2, values).astype(np.uint8)


def _by_density(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """As many values as there are codes, as dense as the cube root of the density (Panter and Dite 1951)."""
    sizes, edges = np.histogram(ordered, BINS)
    shares = np.concatenate([[0.0], np.cumsum(np.cbrt(sizes))])
    return np.interp((np.arange(CODES) + 0.5) / CODES * shares[-1], shares, edges)
