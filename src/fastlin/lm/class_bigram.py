"""`ClassBigramModel`: the aggregate Markov model, soft classes between a word and the next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.core.callbacks import make_callback
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.em_loop import EM, EMEstimatorMixin, best_run
from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.restarts import decisive_limits
from fastlin.engine.lm import aggregate as kernels
from fastlin.lm.backoff import StateNodes
from fastlin.lm.base import LanguageModel
from fastlin.lm.contexts import last_words
from fastlin.lm.counts import NgramCounts
from fastlin.lm.ngram import counted_as
from fastlin.lm.sentences import DIRECTIONS, SENTENCES, SentenceReader
from fastlin.lm.vocabulary import BEGIN, UNKNOWN, WordVocabulary
from fastlin.lm.word_model import prove_state
from fastlin.validation import as_generator
from fastlin.validation.choices import Direction, Markup, Unit
from fastlin.validation.parameter_kinds import Integer, OneOf, ParameterTable, Real, check_parameters

Floats = NDArray[np.float64]
LARGEST_ALPHA = 1e12
WIDTH = 8  # classes are padded to multiples of it
BIGRAMS_OF_A_CALL = 1 << 18
MARK_OF_BEGIN = (BEGIN,)


@dataclass(frozen=True)
class AggregateModel:
    """p(w | v) = Σ_c p(c | v) p(w | c): rows of words, columns of classes, padded with zeros."""

    vocabulary: WordVocabulary
    class_given: Floats
    word_given: Floats
    order = 2

    def start(self) -> StateNodes:
        """The state where a sentence begins: states are the last word."""
        return MARK_OF_BEGIN

    def state_after(self, words: Sequence[int], begin: bool) -> StateNodes:
        """The state after some words; without any within a sentence, that of the unknown word."""
        return last_words(words, begin, 1)

    def advance(self, state: StateNodes, word: int) -> tuple[float, StateNodes]:
        """(ln p of a word after a state, the state after it)."""
        prove_state(state, 1, 1, len(self.vocabulary))
        with np.errstate(divide="ignore"):
            return float(np.log(self.class_given[state[0]] @ self.word_given[word])), (word,)

    def score(self, tokens: NDArray[np.int32]) -> tuple[Floats, NDArray[np.int32]]:
        """ln p of every token, and the length of the n-gram it was found in; 0 where a sentence begins."""
        log_prob = np.zeros(len(tokens))
        kernels.mixture_log_proba(tokens[:-1], tokens[1:], self.class_given, self.word_given, log_prob[1:])
        inside = tokens != BEGIN
        log_prob[~inside] = 0
        return log_prob, np.where(inside, 2, 0).astype(np.int32)

    def next_word(self, state: StateNodes) -> NDArray[np.float32]:
        """ln p of every word but begin, in the order of their numbers."""
        prove_state(state, 1, 1, len(self.vocabulary))
        with np.errstate(divide="ignore"):
            return np.log(self.word_given[BEGIN + 1 :] @ self.class_given[state[0]]).astype(np.float32)


@dataclass(frozen=True)
class ClassBigramState:
    """The learnt state."""

    model: AggregateModel
    reader: SentenceReader
    n_classes: int


class ClassBigramModel(EMEstimatorMixin, StatefulEstimator[ClassBigramState], LanguageModel):
    """Pereira's aggregate Markov model: p(w | v) = Σ_c p(c | v) p(w | c), by EM (Saul & Pereira 1997).

    A hidden class stands between a word and the next, so that bigrams that were never seen are told apart by what their
    words were seen with. EM climbs to a maximum of Σ n(v, w) log p(w | v) + α Σ log p(w | c).

    Parameters
    ----------
    n_classes : int
        Classes.
    alpha : float
        Pseudo-counts of each word in each class; 0 leaves words without a probability after some.
    n_init : int
        Random starts; the one that leads to the best bound is kept.
    max_iter : int
        Iterations at most.
    tol : float
        EM ends when an iteration raises the bound by no more than tol a bigram.
    min_count, vocabulary, unk, unit, direction, markup, n_jobs
        As `NgramModel` has them.
    random_state : int, RandomState, Generator or None
        Seed of the starts.
    verbose : int
        1 prints a line an iteration.
    callback : callable or None
        `callback(model, record)` after every iteration, when the model is as far; a true value ends the fit.

    Attributes
    ----------
    words_ : list of str
        The words that may come next, "</s>" first.
    class_given_word_ : ndarray of shape (n_words + 1, n_classes)
        p(c | v), the mark that begins a sentence first, then as `words_`.
    word_given_class_ : ndarray of shape (n_words, n_classes)
        p(w | c).
    bound_ : ndarray of shape (n_iter_ + 1,)
        The bound of the start and after each iteration; it never falls.
    restart_scores_ : array of shape (n_runs,)
        Where each start ended: its last bound.
    objective_ : float
        −bound_[-1].
    history_ : list of dict
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> from fastlin.lm import ClassBigramModel
    >>> text = ["the dog ran", "a dog sat", "the cat sat"] * 5
    >>> model = ClassBigramModel(n_classes=3, n_init=3, random_state=0).fit(text)
    >>> better, worse = model.score_samples(["a cat ran", "ran cat a"])
    >>> bool(better > worse)
    True
    """

    _parameters: ClassVar[ParameterTable] = SENTENCES | EM | {
        "n_classes": Integer(at_least=1), "alpha": Real(at_least=0, at_most=LARGEST_ALPHA),
        "direction": OneOf(*DIRECTIONS),
    }  # fmt: skip

    def __init__(
        self,
        n_classes: int = 16,
        *,
        alpha: float = 0.01,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        min_count: int = 1,
        vocabulary: Sequence[str] | None = None,
        unk: str | None = "<unk>",
        unit: Unit = "word",
        direction: Direction = "forward",
        markup: Markup = "raise",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.n_classes = n_classes
        self.alpha = alpha
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.unk = unk
        self.unit = unit
        self.direction = direction
        self.markup = markup
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Find the classes.

        Parameters
        ----------
        X : list of sentences, path, open file, or what `fastlin.data.read` returns
            As for `NgramModel`.
        y : ignored
        checkpoint : path, optional
            A file that says where EM stands, written between two iterations.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every iteration.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        del y
        check_parameters(self)
        alpha = float(self.alpha)
        model = self._working_copy()
        state = counted_as(self, X, order=2)
        vocabulary, counts = state.known
        n_classes = min(int(self.n_classes), len(vocabulary))  # more say nothing more
        em = AggregateEM(counts, n_classes, alpha, self.unk is None)
        data = {} if checkpoint is None else {"bigrams": counts.words, "starts": counts.starts, "counts": counts.counts}
        limits = decisive_limits(self.n_init, self.max_iter, self.tol)
        file = storage.Checkpoint(checkpoint, checkpoint_interval, resume, storage.identity(self, data, **limits))
        monitor = FitMonitor(self.max_iter, checkpoint=file)
        generator = monitor.register_generator(as_generator(self.random_state))

        def install(parameters: tuple[Floats, Floats]) -> "ClassBigramModel":
            model._state_of_fit = ClassBigramState(AggregateModel(vocabulary, *parameters), state.reader, n_classes)
            return model

        monitor.report = make_callback(model, lambda: install(em.counts()))
        best = best_run(em, monitor, self.tol, int(self.n_init), lambda: em.start(generator.generator), generator)
        self._take_fitted(install(best.counts)._record_fit(best))
        self._warn_of_run(best)
        return self

    def _describe_components(self, components: set[int]) -> str:
        return f"{len(components)} of {self.n_classes} classes"

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    def _word_model(self) -> AggregateModel:
        return self._learnt.model

    def _reader(self) -> SentenceReader:
        return self._learnt.reader

    @property
    @reads
    def class_given_word_(self) -> Floats:
        """p(c | v), a row for each word before."""
        learnt = self._learnt
        return learnt.model.class_given[:, : learnt.n_classes]

    @property
    @reads
    def word_given_class_(self) -> Floats:
        """p(w | c), a row for each word that may come next."""
        learnt = self._learnt
        return learnt.model.word_given[BEGIN + 1 :, : learnt.n_classes]


class AggregateEM:
    """The parameters as they are, and the steps that better them, for an `EMRun`."""

    def __init__(self, counts: NgramCounts, n_classes: int, alpha: float, closed: bool) -> None:
        self._starts, self._words = counts.starts[1].astype(np.int64), counts.words[1]
        self._n = counts.counts[1].astype(np.float64)
        self._alpha, self._n_classes = alpha, n_classes
        self._width = -(-n_classes // WIDTH) * WIDTH
        self.width = n_classes
        self.total_weight = float(self._n.sum())
        possible = np.ones(counts.n_words, bool)
        possible[BEGIN] = False
        possible[UNKNOWN] = not closed
        self._possible = possible
        self._seen = np.diff(self._starts) > 0
        self._jobs = self._cut()
        self.factors = self.total_weight + alpha * n_classes * int(possible.sum())

    def _cut(self) -> list[tuple[int, int]]:
        places = np.arange(0, len(self._words) + BIGRAMS_OF_A_CALL, BIGRAMS_OF_A_CALL)
        bounds = np.unique(np.searchsorted(self._starts, np.minimum(places, len(self._words))))
        bounds = np.unique(np.concatenate([[0], bounds, [len(self._starts) - 1]]))
        return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def start(self, generator: np.random.Generator) -> None:
        """Random parameters: uniform on the simplex for each word and each class."""
        n_words, K = len(self._possible), self._n_classes
        self._class_given, self._word_given = np.zeros((n_words, self._width)), np.zeros((n_words, self._width))
        self._class_given[:, :K] = generator.dirichlet(np.ones(K), n_words)
        self._word_given[:, :K] = generator.standard_gamma(1.0, (n_words, K)) * self._possible[:, np.newaxis]
        self._word_given[:, :K] /= self._word_given[:, :K].sum(axis=0)

    def expect(self) -> float:
        """The E-step; returns the bound of the parameters."""
        self._class_sums, self._word_sums = np.empty(self._class_given.shape), np.zeros(self._word_given.shape)
        bound = 0.0
        for first, last in self._jobs:
            bound += kernels.expect(
                self._starts, self._words, self._n, first, last, self._class_given, self._word_given,
                self._class_sums, self._word_sums,
            )  # fmt: skip
        if self._alpha:
            with np.errstate(divide="ignore"):
                bound += self._alpha * float(np.log(self._word_given[self._possible, : self._n_classes]).sum())
        return bound

    def maximise(self, keep: bool = False) -> None:  # noqa: ARG002 - the parameters are all there is
        """The M-step."""
        K = self._n_classes
        self._class_given = self._class_given * self._class_sums
        masses = self._class_given[self._seen].sum(axis=0)
        self._class_given[~self._seen] = masses  # a word that was seen before no other says nothing of its class
        self._class_given /= self._class_given.sum(axis=1, keepdims=True)
        self._word_given = self._word_given * self._word_sums
        self._word_given[self._possible, :K] += self._alpha
        totals = self._word_given[:, :K].sum(axis=0)
        self._word_given[:, :K] /= np.where(totals > 0, totals, 1.0)

    def counts(self) -> tuple[Floats, Floats]:
        """The parameters: p(c | v) and p(w | c)."""
        return self._class_given, self._word_given

    def dead(self) -> list[int]:
        """Classes that no bigram has a share of: none, as each start gives all of them some."""
        return []

    def reseed_components(self, components: list[int]) -> None:
        """Nothing: none is dead."""

    def restore(self, before: None) -> None:
        """Nothing: none was seeded."""

    # Checkpoints

    def state_dict(self) -> State:
        """The parameters."""
        return self.export_counts(self.counts())

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        self._class_given, self._word_given = self.restore_counts(saved)

    def export_counts(self, counts: tuple[Floats, Floats]) -> State:
        """What `counts` returned, for a checkpoint."""
        return {"class_given": counts[0], "word_given": counts[1]}

    def restore_counts(self, saved: CheckpointReader) -> tuple[Floats, Floats]:
        """The parameters that `export_counts` described."""
        like = np.empty((len(self._possible), self._width))
        return saved.array("class_given", like), saved.array("word_given", like)
