"""Smaller back-off models: without the n-grams that change the distributions least, or were seen too seldom."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.lm.backoff import BackoffModel
from fastlin.lm.vocabulary import BEGIN

LEAST = 1e-12  # of what is left to the words that do not follow a history


def entropy_kept(model: BackoffModel, threshold: float) -> list[NDArray[np.bool_] | None]:
    """N-grams without which the training perplexity would rise by more than a factor of 1 + threshold.

    Stolcke (1998): for each n-gram by itself, D(p ‖ p′) = −p(h) {p(w|h) [ln p(w|h′) + ln bow′(h) − ln p(w|h)]
    + (1 − Σ_v p(v|h)) [ln bow′(h) − ln bow(h)]} over known v, and exp(D) − 1 is how much the perplexity rises.
    Histories of what is kept are kept.
    """
    of_history = [model.log_prob[0].astype(np.float64)]
    of_history[0][BEGIN] = 0
    for n in range(1, model.order - 1):
        of_history.append(of_history[-1][model.histories(n)] + model.log_prob[n])
    keep: list[NDArray[np.bool_] | None] = [None] * model.order
    for n in range(model.order - 1, 0, -1):
        kept = _divergence(model, n, of_history[n - 1]) > np.log1p(threshold)
        longer = keep[n + 1] if n + 1 < model.order else None
        if longer is not None:
            kept |= np.bincount(model.histories(n + 1)[longer], minlength=len(kept)) > 0
        keep[n] = kept
    return keep


def _divergence(model: BackoffModel, n: int, log_history: NDArray[np.float64]) -> NDArray[np.float64]:
    histories, log_p, log_shorter = model.histories(n), model.log_prob[n].astype(np.float64), shorter(model, n)
    p, p_shorter = np.exp(log_p), np.exp(log_shorter)
    size = len(log_history)
    left = np.maximum(1 - np.bincount(histories, p, size), LEAST)[histories]
    left_shorter = np.maximum(1 - np.bincount(histories, p_shorter, size), LEAST)[histories]
    new = np.log((left + p) / (left_shorter + p_shorter))
    change = p * (log_shorter + new - log_p) + left * (new - model.backoff[n - 1][histories])
    found: NDArray[np.float64] = -np.exp(log_history[histories]) * change
    return found


def shorter(model: BackoffModel, n: int) -> NDArray[np.float64]:
    """ln p(w|h′) of every n-gram hw, n counting from 0: by its suffix, or by backing off where there is none."""
    suffix = model.suffix[n]
    found = model.log_prob[n - 1][suffix].astype(np.float64)
    lost = np.flatnonzero(suffix < 0)
    if len(lost):
        log_prob = np.empty(len(lost))
        model.queries.log_prob_of(np.ascontiguousarray(model.rows(n)[lost, 1:]), log_prob)
        found[lost] = log_prob
    return found


def pruned(model: BackoffModel, keep: Sequence[NDArray[np.bool_] | None]) -> BackoffModel:
    """Without some n-grams, and back-off weights with which every distribution sums to one again."""
    smaller = model.only(keep)
    for n in range(1, smaller.order):
        histories, size = smaller.histories(n), smaller.n_grams[n - 1]
        left = 1 - np.bincount(histories, np.exp(smaller.log_prob[n].astype(np.float64)), size)
        left_shorter = 1 - np.bincount(histories, np.exp(shorter(smaller, n)), size)
        backoff = np.log(np.maximum(left, LEAST) / np.maximum(left_shorter, LEAST)).astype(np.float32)
        backoff[np.diff(smaller.starts[n]) == 0] = 0
        full = (left_shorter <= LEAST) & (np.diff(smaller.starts[n]) > 0)
        backoff[full] = smaller.backoff[n - 1][full]
        lists = list(smaller.backoff)
        lists[n - 1] = backoff
        smaller = BackoffModel(
            smaller.vocabulary, smaller.words, smaller.starts, smaller.suffix, smaller.log_prob, lists
        )
    return smaller
