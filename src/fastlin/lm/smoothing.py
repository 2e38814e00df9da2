"""From counts to a back-off model: Kneser and Ney, Witten and Bell, Good and Turing, Laplace, Dirichlet."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.lm import smoothing as engine
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.counts import NgramCounts
from fastlin.lm.vocabulary import BEGIN, UNKNOWN, WordVocabulary
from fastlin.runtime.parallel import WorkerPool, split_by_length
from fastlin.runtime.user_warnings import warn_user
from fastlin.validation import real_number

Probabilities = NDArray[np.float64]
SMOOTHINGS = (
    "modified_kneser_ney", "kneser_ney", "absolute_discounting", "witten_bell", "katz", "dirichlet", "lidstone",
    "laplace", "relative_frequency",
)  # fmt: skip
CONTINUATIONS = ("modified_kneser_ney", "kneser_ney")  # what smooths how many words an n-gram follows
FIXED = ("lidstone", "laplace", "relative_frequency")  # what asks no shorter history
KATZ_LARGEST = 7  # counts above are reliable, as SRILM has it
NOTHING_TAKEN = np.zeros(1)
NGRAMS_OF_A_JOB = 1 << 16


@dataclass(frozen=True)
class SmoothingMethod:
    """A smoothing of counts; the parameters of NgramModel of the same names."""

    name: str = "modified_kneser_ney"
    interpolate: bool = True
    discount: float | None = None
    alpha: float = 1.0
    base_measure: Any = None
    cutoffs: tuple[int, ...] = (1,)
    closed: bool = False

    def cutoff(self, n: int) -> int:
        """The least count that stays, of order n + 1; unigrams all do."""
        return self.cutoffs[min(n, len(self.cutoffs)) - 1] if n else 1


@dataclass(frozen=True)
class Estimate:
    """A model, and for each order the discounts of counts 1, 2, … (empty: none)."""

    model: BackoffModel
    discounts: list[NDArray[np.float64]]


def estimate(
    counts: NgramCounts, vocabulary: WordVocabulary, smoothing: SmoothingMethod, n_jobs: int | None = None
) -> Estimate:
    """The probabilities and back-off weights of all n-grams, shorter ones first."""
    base = _base_measure(counts, vocabulary, smoothing)
    log_prob: list[NDArray[np.float32]] = []
    backoff: list[NDArray[np.float32]] = []
    discounts: list[NDArray[np.float64]] = []
    rough: list[tuple[int, str]] = []
    fixed = smoothing.name in FIXED or (smoothing.name == "dirichlet" and smoothing.base_measure is not None)
    shorter: Probabilities = np.empty(0)
    with WorkerPool(n_jobs) as workers:
        adjusted = _adjusted(counts, workers) if smoothing.name in CONTINUATIONS else counts.counts
        for n in range(counts.order):
            taken = _taken(adjusted[n][counts.n_begin[n] if n == 0 else 0 :], n, smoothing, workers, rough)
            if n and not fixed:
                found = _smoothed(counts, adjusted[n], n, taken, shorter, smoothing, workers)
            elif fixed:
                found = _with_logarithms(*_with_base(counts, n, base, smoothing))
            else:
                found = _with_logarithms(_unigrams(counts, adjusted[0], taken, base, smoothing), np.empty(0))
            shorter = found[0]
            log_prob.append(found[1])
            if n:
                backoff.append(found[2])
            discounts.append(taken[1:])
    _warn(rough)
    model = BackoffModel(vocabulary, counts.words, counts.starts, counts.suffix, log_prob, backoff)
    if max(smoothing.cutoffs) > 1:
        model = model.only([counts.counts[n] >= smoothing.cutoff(n) if n else None for n in range(counts.order)])
    return Estimate(model, discounts)


Smoothed = tuple[Probabilities, NDArray[np.float32], NDArray[np.float32]]  # p, ln p, ln of back-off weights


def _with_logarithms(p: Probabilities, left: Probabilities) -> Smoothed:
    return p, np.minimum(_log(p), 0), _log(left)


def _log(p: Probabilities) -> NDArray[np.float32]:
    with np.errstate(divide="ignore"):
        return np.log(p).astype(np.float32)


def _adjusted(counts: NgramCounts, workers: WorkerPool) -> list[NDArray[np.int64]]:
    """Continuation counts: how many different words an n-gram follows; raw ones of the highest order and of begin."""
    found = []
    for n in range(counts.order - 1):
        suffix, first, size = counts.suffix[n + 1], counts.n_begin[n], len(counts.counts[n])
        adjusted = np.empty(size, np.int64)
        adjusted[:first] = counts.counts[n][:first]
        cuts = [first + (size - first) * part // workers.threads for part in range(workers.threads + 1)]
        workers.map(
            lambda start, stop: engine.continuations(suffix, start, stop, adjusted),  # noqa: B023
            itertools.pairwise(cuts),
        )
        found.append(adjusted)
    return [*found, counts.counts[-1]]


def _base_measure(counts: NgramCounts, vocabulary: WordVocabulary, smoothing: SmoothingMethod) -> Probabilities:
    """The probabilities of words without any history: uniform, or as given."""
    base = np.ones(counts.n_words)
    given = smoothing.base_measure
    if given is not None:
        if not isinstance(given, Mapping):
            raise TypeError(f"base_measure must be a dict of words to numbers, or None, got {given!r:.60}")
        base = np.zeros(counts.n_words)
        for word, p in given.items():
            if word not in vocabulary.numbers:
                raise ValueError(f"base_measure holds {word!r}, which is no word of the vocabulary")
            base[vocabulary.numbers[word]] = real_number("base_measure", p, at_least=0, below=math.inf)
    base[BEGIN] = 0
    if smoothing.closed:
        base[UNKNOWN] = 0
    if not base.any():
        raise ValueError("base_measure must hold numbers of at least 0, not all of them 0")
    base /= base.max()  # sums of the largest numbers are infinite
    return base / base.sum()


def _unigram_starts(n_words: int) -> NDArray[np.int32]:
    return np.array([0, n_words], np.int32)


def _unigrams(
    counts: NgramCounts, adjusted: NDArray[np.int64], taken: NDArray[np.float64], base: Probabilities,
    smoothing: SmoothingMethod,
) -> Probabilities:  # fmt: skip
    """p of words, which have one history; begin is none of them."""
    adjusted = adjusted.copy()
    adjusted[BEGIN] = 0
    weight = {"dirichlet": smoothing.alpha, "witten_bell": float(np.count_nonzero(adjusted))}.get(smoothing.name, 0.0)
    q, left = np.empty(len(adjusted)), np.empty(1)
    starts = _unigram_starts(counts.n_words)
    rule = engine.DiscountRule(taken, 0, weight, 0.0, True)
    engine.discount(rule, starts, adjusted, counts.counts[0], q, left, 0, 1)
    q += left[0] * base
    q[BEGIN] = 0
    return q


def _smoothed(
    counts: NgramCounts, adjusted: NDArray[np.int64], n: int, taken: NDArray[np.float64], shorter: Probabilities,
    smoothing: SmoothingMethod, workers: WorkerPool,
) -> Smoothed:  # fmt: skip
    """An order above unigrams, some histories at a time: all that is made of them while they are in cache."""
    starts, suffix, raw = counts.starts[n], counts.suffix[n], counts.counts[n]
    weight = smoothing.alpha if smoothing.name == "dirichlet" else 0.0
    rule = engine.DiscountRule(taken, smoothing.cutoff(n), weight, float(smoothing.name == "witten_bell"), True)
    interpolate = smoothing.interpolate and smoothing.name != "katz"
    p, left = np.empty(len(raw)), np.empty(len(starts) - 1)
    log_prob, backoff = np.empty(len(raw), np.float32), np.empty(len(left), np.float32)

    def work(first: int, last: int) -> None:
        engine.discount(rule, starts, adjusted, raw, p, left, first, last)
        if interpolate:
            engine.interpolate(starts, suffix, left, shorter, p, first, last)
        else:
            engine.backoff_weights(starts, suffix, shorter, p, left, first, last)
        these = slice(int(starts[first]), int(starts[last]))
        _, log_prob[these], backoff[first:last] = _with_logarithms(p[these], left[first:last])

    workers.map(work, split_by_length(starts.astype(np.int64), NGRAMS_OF_A_JOB))
    return p, log_prob, backoff


def _with_base(
    counts: NgramCounts, n: int, base: Probabilities, smoothing: SmoothingMethod
) -> tuple[Probabilities, Probabilities]:
    """Whole histories share their mass with the base measure; what is shorter has nothing but that.

    A history is whole if it has order − 1 words, or begins a sentence. So shorter n-grams have the base measure's
    probabilities, and a history that was never seen falls through to it.
    """
    seen = counts.n_words - 1 - smoothing.closed
    alpha = {"relative_frequency": 0.0, "laplace": 1.0}.get(smoothing.name, smoothing.alpha)
    weight = alpha if smoothing.name == "dirichlet" else alpha * seen
    starts = counts.starts[n] if n else _unigram_starts(counts.n_words)
    of = base if n == 0 else base[counts.words[n]]
    raw = counts.counts[n].copy()
    if n == 0:
        raw[BEGIN] = 0
    q, left = np.empty(len(raw)), np.empty(len(starts) - 1)
    rule = engine.DiscountRule(NOTHING_TAKEN, smoothing.cutoff(n) if n else 0, weight, 0.0, False)
    engine.discount(rule, starts, raw, raw, q, left, 0, len(left))
    whole = np.ones(len(starts) - 1, np.bool_)
    if 0 < n < counts.order - 1:
        whole[counts.n_begin[n - 1] :] = False
    elif n == 0:
        whole[:] = counts.order == 1
    left[np.diff(starts) == 0] = 1
    share = np.repeat(left, np.diff(starts))
    p = q + share * of
    lone = 0.0 if alpha == 0 else 1.0
    p = np.where(np.repeat(whole, np.diff(starts)), p, of * lone)
    return p, np.where(whole, left, 1.0)


def _taken(
    counts: NDArray[np.int64], n: int, smoothing: SmoothingMethod, workers: WorkerPool, rough: list[tuple[int, str]]
) -> NDArray[np.float64]:
    """The discounts of counts of 0, 1, 2, …, the last for all larger ones; `rough` hears which are no estimates."""
    if smoothing.name not in ("modified_kneser_ney", "kneser_ney", "absolute_discounting", "katz"):
        return NOTHING_TAKEN
    n_of = _counts_of_counts(counts, workers)
    if smoothing.name == "katz":
        return _good_turing(n_of, n, rough)
    if smoothing.discount is not None:
        return np.array([0.0, smoothing.discount])
    if smoothing.name == "modified_kneser_ney":
        return _three_discounts(n_of, n, smoothing.interpolate, rough)
    return np.array([0.0, _one_discount(n_of)])


def _counts_of_counts(counts: NDArray[np.int64], workers: WorkerPool) -> NDArray[np.float64]:
    """n₀, n₁, n₂, …: how many n-grams were seen so often."""

    def work(first: int, last: int) -> NDArray[np.int64]:
        n_of = np.zeros(KATZ_LARGEST + 3, np.int64)
        engine.counts_of_counts(counts, first, last, n_of)
        return n_of

    bounds = range(0, len(counts) + NGRAMS_OF_A_JOB, NGRAMS_OF_A_JOB)
    jobs = [(first, min(last, len(counts))) for first, last in itertools.pairwise(bounds)]
    return sum(workers.map(work, jobs), np.zeros(KATZ_LARGEST + 3))


def _one_discount(n_of: NDArray[np.float64]) -> float:
    """n₁ / (n₁ + 2 n₂), or ½ where that is not between 0 and 1."""
    total = n_of[1] + 2 * n_of[2]
    found = n_of[1] / total if total > 0 else 0.0
    return float(found) if 0 < found < 1 else 0.5


def _three_discounts(
    n_of: NDArray[np.float64], n: int, interpolate: bool, rough: list[tuple[int, str]]
) -> NDArray[np.float64]:
    """D_j = j − (j + 1) Y n_{j+1}/n_j with Y = n₁/(n₁ + 2 n₂), of Chen and Goodman (1999).

    Where an n_j is 0 or a D_j outside of [0, j], one discount Y for all counts, if that is between 0 and 1, else ½, 1
    and 1½.
    """
    total = n_of[1] + 2 * n_of[2]
    y = n_of[1] / total if total > 0 else 0.0
    if (n_of[1:4] > 0).all():
        j = np.arange(1, 4)
        found = j - (j + 1) * y * n_of[2:5] / n_of[1:4]
        if (found >= 0).all() and (found <= j if interpolate else found < j).all():
            return np.concatenate([[0.0], found])
    found = np.full(3, y) if 0 < y < 1 else np.array([0.5, 1.0, 1.5])
    rough.append((n + 1, f"{', '.join(f'{each:.3g}' for each in found)} are used"))
    return np.concatenate([[0.0], found])


def _good_turing(n_of: NDArray[np.float64], n: int, rough: list[tuple[int, str]]) -> NDArray[np.float64]:
    """Of counts c ≤ 7 what Good and Turing take, (1 − d_c) c; nothing where d_c is not between 0 and 1, as in SRILM."""
    k, c = KATZ_LARGEST, np.arange(1, KATZ_LARGEST + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = (k + 1) * n_of[k + 1] / n_of[1]
        ratio = ((c + 1) * n_of[2 : k + 2] / (c * n_of[1 : k + 1]) - most) / (1 - most)
    good = np.isfinite(ratio) & (ratio > 0) & (ratio <= 1)
    if not good.all():
        rough.append((n + 1, f"nothing is taken from counts of {', '.join(map(str, c[~good]))}"))
    return np.concatenate([[0.0], np.where(good, (1 - ratio) * c, 0.0), [0.0]])


def _warn(rough: list[tuple[int, str]]) -> None:
    """Say in one warning of which orders there were too few counts, and what took the place of estimates."""
    texts = []
    for (text, _), group in itertools.groupby(enumerate(rough), key=lambda each: (each[1][1], each[1][0] - each[0])):
        orders = [n for _, (n, _) in group]
        which = f"order {orders[0]}" if len(orders) == 1 else f"orders {orders[0]} to {orders[-1]}"
        texts.append(f"{which} ({text})")
    if texts:
        warn_user(f"too few counts to estimate the discounts of {', '.join(texts)}")
