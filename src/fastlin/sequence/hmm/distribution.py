"""What a hidden Markov model says of sequences, once it is known: their probabilities, and sequences of its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.estimator import reads
from fastlin.sequence.base import SequenceModel, frozen_features
from fastlin.sequence.chain import Chain, NoPathError
from fastlin.sequence.chain_batches import ChainBatch, ChainBatches, Potential, Potentials
from fastlin.sequence.constraints import Mask
from fastlin.sequence.hmm.state import HMMState
from fastlin.sequence.hmm.tokens import WordTokens
from fastlin.sequence.hmm.transitions import Transitions
from fastlin.sequence.one_sentence import FrozenWeights
from fastlin.sequence.token_scores import dense_scores
from fastlin.sequence.tokens import Tokens
from fastlin.validation import as_weights, whole_number

Floats = NDArray[np.float64]
MAX_KEPT_WORDS = 1 << 12  # unknown words whose scores are kept
MAX_SAMPLED_FEATURES = 1 << 31  # features of all tokens
LOG_FLOOR = float(np.log(1e-300))  # what a step of probability 0 costs a sequence that has no other path


class HMMDistribution(SequenceModel, ABC):
    """p(x, y) = p(y₁) Π_t p(y_t | history) p(stop | history) Π_t p(x_t | y_t), by a chain and by emissions."""

    stop: bool
    random_state: Any
    _floored = False  # whether nothing is impossible

    # Probabilities

    @property
    def startprob_(self) -> Floats:
        """p(k) of a first label."""
        return self._known().probabilities.start

    @property
    def transmat_(self) -> Floats:
        """p(k | history) […, K], of labels that follow one another."""
        return self._known().probabilities.steps

    @property
    def stopprob_(self) -> Floats:
        """p(stop | history) […]; 1, of what is not counted, where `stop` is False."""
        return self._known().probabilities.ends

    @property
    @reads
    def emissionprob_(self) -> Floats:
        """φ, a row for each label and a column for each feature; what the rows lack of 1 is for unknown words."""
        return np.exp(self._known().emissions.log_phi.T)

    @reads
    def score_samples(self, X: Any, *, lengths: Any = None) -> Floats:
        """log p(x) of each sequence, without constraints; −∞ where no path can produce it.

        Of a word that was never seen, this is the probability of any word that is as unknown: by "suffix" or "shape"
        of all such words.

        Parameters
        ----------
        X : list of sequences, or CSR of shape (n_tokens, n_features)
        lengths : array of shape (n_sequences,), optional
            With a CSR.

        Returns
        -------
        array of shape (n_sequences,)
            Nats.
        """
        tokens = self._tokens(X, lengths)
        found = np.empty(len(tokens))
        for block in self._unconstrained(tokens):
            found[block.sequences] = _log_z(block)
        return found

    @reads
    def log_joint(self, X: Any, y: Any, *, lengths: Any = None) -> Floats:
        """log p(x, y) of each sequence, without constraints; −∞ where it cannot be, as with unknown labels.

        Parameters
        ----------
        X, lengths
            As for `predict`.
        y : list of lists of labels, or with a CSR one array

        Returns
        -------
        array of shape (n_sequences,)
            Nats.
        """
        tokens = self._tokens(X, lengths)
        codes = self._codes(y, tokens)
        unknown, codes = codes < 0, np.maximum(codes, 0)
        found = np.empty(len(tokens))
        for block in self._unconstrained(tokens):
            found[block.sequences] = block.infer("values", labels=codes[block.tokens])
        found[tokens.sequence_of(np.flatnonzero(unknown))] = -np.inf
        return found

    @reads
    def score(
        self, X: Any, y: Any = None, *, lengths: Any = None, allowed: Any = None, sample_weight: Any = None
    ) -> float:
        """The share of the tokens that get their label; without `y`, the mean of log p(x) over the sequences.

        Parameters
        ----------
        X, lengths, allowed
            As for `predict`.
        y : list of lists of labels, or with a CSR one array, optional
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence, or each of its tokens, counts.

        Returns
        -------
        float
            From 0 to 1; without `y` nats a sequence.
        """
        if y is not None:
            return super().score(X, y, lengths=lengths, allowed=allowed, sample_weight=sample_weight)
        found = self.score_samples(X, lengths=lengths)
        weights = as_weights(sample_weight, len(found), unit="sequence")
        if weights is not None and not weights.any():
            raise ValueError("sample_weight is 0 for all sequences: there is no mean")
        return float(np.average(found, weights=weights))

    @reads
    def perplexity(self, X: Any, *, lengths: Any = None) -> float:
        """exp(−Σ log p(x) / the number of tokens): out of how many equally likely tokens the model had to guess each.

        Parameters
        ----------
        X, lengths
            As for `score_samples`.

        Returns
        -------
        float
            From 1 on; infinite if a sequence is impossible.

        Raises
        ------
        ValueError
            If there are no tokens.
        """
        tokens = self._tokens(X, lengths)
        if not tokens.n_tokens:
            raise ValueError("X has no tokens, of which perplexity is a mean")
        total = sum(float(_log_z(block).sum()) for block in self._unconstrained(tokens))
        with np.errstate(over="ignore"):
            return float(np.exp(-total / tokens.n_tokens))

    # Inference

    def _frozen_sources(self, known: dict[str, Any]) -> tuple[Any, ...] | None:
        state = known["_state"]
        if not known["_words"] or "emissions" not in state.__dict__:
            return None
        return state, *frozen_features(known)

    def _frozen_weights(self) -> FrozenWeights:
        emissions = self._known().emissions
        kept: dict[str, Floats] = {}

        def of_unknown(word: str) -> Floats:
            found = kept.get(word)
            if found is None:
                if len(kept) >= MAX_KEPT_WORDS:
                    kept.clear()
                found = kept[word] = emissions.of_one_unknown(word)
            return found

        return FrozenWeights(emissions.log_phi, self._chain(), self.classes_.tolist(), [], of_unknown)

    def _chain(self) -> Chain:
        found = self._known().chain
        if not self._floored:
            return found
        tables = (found.start, found.transitions, found.end)
        return Chain(*(np.maximum(table, LOG_FLOOR) for table in tables))

    def _potential(self) -> Potential:
        emissions = self._known().emissions
        log_phi, floored = emissions.log_phi, self._floored
        if floored:
            log_phi = np.maximum(log_phi, LOG_FLOOR)

        def potential(tokens: Tokens, start: int, stop: int) -> Potentials:
            scores = dense_scores(tokens, log_phi, start, stop)
            if isinstance(tokens, WordTokens):
                some = slice(*np.searchsorted(tokens.unknown, [start, stop]).tolist())
                found = tokens.logs[tokens.kinds[some]]
                scores[tokens.unknown[some] - start] = np.maximum(found, LOG_FLOOR) if floored else found
            return Potentials(scores)

        return potential

    def _infer(self, tokens: Tokens, allowed: Any, infer: Callable[[ChainBatch], Any]) -> list[Any]:
        """A sequence without a path that is possible is looked at again, as if nothing were impossible."""
        allowed = list(allowed) if isinstance(allowed, Iterator) else allowed
        floored = cache(lambda: self._floor()._batches(tokens, allowed))
        found = super()._infer(tokens, allowed, lambda block: list(_infer_or_floor(block, floored, infer)))
        return [result for results in found for result in results]

    def _floor(self) -> Self:
        """The model in which nothing is impossible but what constraints forbid."""
        model = self._working_copy()
        model._floored = True
        return model

    # Sequences of its own

    @reads
    def sample(self, n_samples: int = 1, lengths: Any = None, random_state: Any = None) -> tuple[Any, list[list[Any]]]:
        """Sequences as the model makes them, of the features it knows.

        Parameters
        ----------
        n_samples : int
        lengths : int or array of shape (n_samples,), optional
            How many tokens each has; None: until it stops, for which `stop` must be True.
        random_state : int, RandomState, Generator or None
            None: the estimator's own.

        Returns
        -------
        X : list of lists of tokens, or CSR of shape (n_tokens, n_features)
            A CSR, if the model was fitted on one. Where tokens had several features, each has as many as they had on
            average, rounded.
        y : list of lists of labels
        """
        self._check_fitted()
        n = whole_number("n_samples", n_samples, 1)
        asked = None if lengths is None else _lengths(lengths, n)
        if asked is None and not self.stop:
            raise ValueError("the model does not stop: give lengths")
        generator = validation.as_generator(self.random_state if random_state is None else random_state)
        paths = sample_paths(self._known().probabilities, n, asked, generator)
        sizes = [len(path) for path in paths]
        codes = np.concatenate(paths).astype(np.int64)
        counts, of_labels = self._known().sums
        mean = counts / of_labels if of_labels > 0 else 1.0
        if not mean * len(codes) < MAX_SAMPLED_FEATURES:
            raise ValueError(f"tokens have {mean:.3g} features on average, too many to draw them")
        each = max(1, round(mean))
        owners = np.repeat(codes, each)
        features, logs = np.empty(len(owners), np.int64), self._known().emissions.log_phi
        for code in range(logs.shape[1]):
            own = np.flatnonzero(owners == code)
            features[own] = _sample(np.exp(logs[:, code])[np.newaxis], generator.random(len(own)))
        stops = np.cumsum(sizes)[:-1]
        y = [labels.tolist() for labels in np.split(self.classes_[codes], stops)]
        names = self.attributes_
        if names is None:
            places = np.repeat(np.arange(len(codes)), each)
            shape = len(codes), self.n_features_in_
            return sp.coo_array((np.ones(len(features)), (places, features)), shape=shape).tocsr(), y
        found = [names[feature] for feature in features.tolist()]
        tokens: list[Any] = found if each == 1 else [found[at : at + each] for at in range(0, len(found), each)]
        return [tokens[start:stop] for start, stop in pairwise([0, *np.cumsum(sizes).tolist()])], y

    # What a subclass says

    @abstractmethod
    def _known(self) -> HMMState:
        """The learnt state."""

    # Parts

    def _unconstrained(self, tokens: Tokens) -> Iterator[ChainBatch]:
        """The tokens in blocks, without constraints."""
        view = ChainBatches(tokens, self._chain(), self._potential())
        return (view.block(first, last) for first, last in view.cuts())


def _infer_or_floor(
    block: ChainBatch, floored: Callable[[], ChainBatches], infer: Callable[[ChainBatch], Any]
) -> Iterator[Any]:
    """What is inferred of a block; where a sequence has no path, of each alone, of that one in the `floored` view."""
    try:
        yield infer(block)
    except NoPathError:
        n = len(block.starts) - 1
        if n == 1:
            yield infer(floored().block(block.first, block.first + 1))
            return
        for place in range(n):
            yield from _infer_or_floor(block.only(place), floored, infer)


def _log_z(block: ChainBatch) -> Floats:
    """log p(x) of each sequence of a block; −∞ for those that no path can produce."""
    try:
        return block.infer("marginals")[1]
    except NoPathError:
        n = len(block.starts) - 1
        return np.full(1, -np.inf) if n == 1 else np.concatenate([_log_z(block.only(place)) for place in range(n)])


def _lengths(lengths: Any, n: int) -> NDArray[np.int64]:
    array = np.asarray(lengths)
    if array.shape not in ((), (n,)) or array.dtype.kind not in "iu" or (array < 0).any():
        raise ValueError(f"lengths must be whole numbers of 0 or more, one or {n}; got {lengths!r:.60}")
    return np.broadcast_to(array.astype(np.int64), n)


def sample_paths(
    chain: Transitions, n: int, lengths: NDArray[np.int64] | None, generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Paths of labels: all walk a step at a time."""
    K = len(chain.start)
    if lengths is None:
        outcomes = np.concatenate([chain.steps, chain.ends[..., np.newaxis]], axis=-1)
        _check_stops(chain)
    else:
        outcomes = chain.steps
    outcomes = outcomes.reshape(-1, outcomes.shape[-1])
    steps: list[NDArray[np.int64]] = []
    walking: list[NDArray[np.int64]] = []
    own = np.arange(n) if lengths is None else np.flatnonzero(lengths > 0)
    before = np.full(len(own), K)
    now = _sample(chain.start[np.newaxis], generator.random(len(own)))
    while len(own):
        steps.append(now)
        walking.append(own)
        history = now if chain.order == 1 else before * K + now
        if lengths is None:
            following = _sample(outcomes[history], generator.random(len(own)))
            goes_on = following < K
        else:
            goes_on = lengths[own] > len(steps)
            following = np.zeros(len(own), np.int64)
            following[goes_on] = _sample(outcomes[history[goes_on]], generator.random(int(goes_on.sum())))
        own, before, now = own[goes_on], now[goes_on], following[goes_on]
    sizes = np.zeros(n, np.int64)
    for some in walking:
        sizes[some] += 1
    ends = np.cumsum(sizes)
    flat = np.empty(int(ends[-1]), np.int64)
    for place, (labels, some) in enumerate(zip(steps, walking, strict=True)):
        flat[(ends - sizes)[some] + place] = labels
    return np.split(flat, ends[:-1])


def _sample(probabilities: Floats, numbers: Floats) -> NDArray[np.int64]:
    """An outcome for each number in [0, 1), with probabilities in one row for all or a row for each."""
    reach = np.cumsum(probabilities, axis=1)
    if len(reach) == 1:
        return np.searchsorted(reach[0], numbers * reach[0, -1], side="right")
    return (reach <= (numbers * reach[:, -1])[:, np.newaxis]).sum(axis=1)


def _check_stops(chain: Transitions) -> None:
    """Every sequence that can begin can end: from each history that can be there, the stop can be reached."""
    K = len(chain.start)
    ends, steps = chain.ends.reshape(-1) > 0, chain.steps.reshape(-1, K) > 0
    histories = np.arange(len(ends))
    first_of = np.zeros_like(histories) if chain.order == 1 else histories % K * K
    following = first_of[:, np.newaxis] + np.arange(K)  # where a label leads from each history
    starts = np.zeros(len(ends), bool)
    starts[np.flatnonzero(chain.start > 0) + (0 if chain.order == 1 else K * K)] = True
    reached = _closure(starts, lambda marks: np.isin(histories, following[marks[:, np.newaxis] & steps]))
    stops = _closure(ends, lambda marks: (steps & marks[following]).any(axis=1))
    if (reached & ~stops).any():
        raise ValueError("there are labels after which no sequence of the model can stop: give lengths")


def _closure(marks: Mask, further: Callable[[Mask], Mask]) -> Mask:
    """What is marked, and what any number of steps further mark."""
    while True:
        more = marks | further(marks)
        if np.array_equal(more, marks):
            return marks
        marks = more
