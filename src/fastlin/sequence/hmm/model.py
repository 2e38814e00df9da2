"""Hidden Markov models of order 1 and 2: counted where labels are known, by EM where they are not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.class_counts import ClassCounts
from fastlin.core.em_loop import EM, EMEstimatorMixin, best_run
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitGenerator, FitMonitor
from fastlin.core.label_sets import label_positions, union_of_labels
from fastlin.core.restarts import decisive_limits
from fastlin.runtime import thread_calls
from fastlin.runtime.shared_lock import SharedLock
from fastlin.sequence.constraints import Constraints
from fastlin.sequence.hmm.baum_welch import BaumWelch, HMMCounts, HMMParameters, as_start
from fastlin.sequence.hmm.distribution import HMMDistribution
from fastlin.sequence.hmm.emissions import NO_PRIOR, EmissionPrior
from fastlin.sequence.hmm.state import HMMState
from fastlin.sequence.hmm.tokens import WordReader, listed, some_of
from fastlin.sequence.hmm.transitions import Smoothing, Transitions, as_weights
from fastlin.sequence.hmm.unknown_words import WORD_CLASSES
from fastlin.sequence.label_encoder import LabelEncoder
from fastlin.sequence.label_lists import as_lists
from fastlin.sequence.partial_labels import LabelCodes, as_partly_labelled
from fastlin.sequence.sample_weights import weigh_sequences
from fastlin.sequence.tokens import Tokens
from fastlin.validation import one_of
from fastlin.validation.parameter_kinds import (
    ABSENT,
    LABEL_WEIGHTS,
    NUMBERS,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

INITS = "auto", "random", "labels"
PSEUDO_COUNT = Real(at_least=0, at_most=1e100)


class HMM(WordReader, HMMDistribution, EMEstimatorMixin):
    """A hidden Markov model of order 1 or 2.

    p(x, y) = p(y₁) Π_t p(y_t | y_{t−1}) Π_t p(x_t | y_t) · p(stop | y_T), with order 2 p(y_t | y_{t−2}, y_{t−1}), and
    p(x_t | k) = Π_j φ_kj^{x_tj} over the features j of a token: it is one word, or naive Bayes in a state. Labels that
    are known are counted; of others the expected counts take the place, by EM (Baum and Welch), which climbs to a
    maximum of

        Σ log p(x, what is known of y) + α Σ log φ + α_s Σ log p(first label) + α_t Σ log p(outcome | history)

    A sequence of no tokens has the probability 1. One that the model cannot produce, log p(x) = −∞, is predicted for as
    if what is impossible had a probability of 1e-300: the path with the fewest impossible steps is the best, and
    marginals, n best paths and log p(y | x) are those of that model.

    Parameters
    ----------
    order : {1, 2}
    alpha : float, optional
        Pseudo-counts of emissions. 0 is the maximum-likelihood estimate: a word that was seen has only the labels it
        was seen with. None: 0, if unknown words are guessed, or else 0.01.
    transition_alpha : float
        Pseudo-counts of what follows a history, a label or the stop.
    start_alpha : float, optional
        Pseudo-counts of first labels; None: as `transition_alpha`.
    interpolation : {"auto", "deleted", None} or tuple of numbers
        Transitions by p = Σ_m λ_m c(history of m labels, next)/c(history of m labels), m from 0 to the order, with the
        λ given, or those of deleted interpolation (Brants, 2000); pseudo-counts are then of m = 0 alone. "auto":
        "deleted" with order 2, if no label was hidden, or else None. None: the pseudo-counts are of each history.
    unknown : {"suffix", "shape", "uniform"}
        Words that were never seen, if all tokens are strings, are emitted as rare words are that end alike, or whose
        letters are of the same kinds; "uniform": by α alone. Features of a token that is no string, which were never
        seen, are left out.
    stop : bool
        Whether the end of a sequence is an outcome that has a probability.
    n_components : int, optional
        The number of hidden states where no label is known.
    init : {"auto", "random", "labels"} or dict
        Where EM begins: "random" probabilities, those of the sequences with "labels", or given ones: startprob,
        transmat, emissionprob (and stopprob), of the shapes below. "auto": "labels", if there are any.
    n_init : int
        Random starts; the one that leads to the best bound is kept.
    tol : float
        EM ends when an iteration raises the bound by no more than tol a token.
    max_iter : int
        Iterations at most.
    constraints : str, set of pairs, array or Constraints, optional
        What labels may follow one another in predictions: see `Constraints`.
    features : optional
        Templates that make the features of tokens.
    random_state : int, RandomState, Generator or None
        Seed of random starts and of `sample`.
    n_jobs : int or None
        Threads; they never change a bit of the model.
    verbose : int
        1 prints a line an iteration.
    callback : callable, optional
        Called as callback(model, record) after every iteration, when the model is as far; a true value ends the fit.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels, sorted; numbers from 0 where none is known.
    startprob_ : array of shape (n_labels,)
    transmat_ : array of shape (n_labels, n_labels), or (n_labels + 1, n_labels, n_labels)
        p(to | from); with order 2 [last but one, last, to], where the last but one may be n_labels: there was none.
    stopprob_ : array of shape (n_labels,), or (n_labels + 1, n_labels)
        p(stop | history): with the rows of `transmat_` it adds up to 1.
    emissionprob_ : array of shape (n_labels, n_features)
    interpolation_ : tuple of numbers or None
        λ.
    n_features_in_ : int
    attributes_ : list of str or None
        The features in the order of their columns, that of first appearance; None where X was a matrix.
    bound_ : array of shape (n_iter_ + 1,)
        After EM: the bound of the start and after each iteration; it never falls.
    restart_scores_ : array of shape (n_runs,)
        Where each start ended: its last bound.
    objective_, history_, converged_, n_iter_
        After EM: −bound_[-1]; one record an iteration; whether `tol` was reached; the iterations.

    Examples
    --------
    >>> from fastlin.sequence import HMM
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
    >>> y = [["DT", "NN", "VB"]] * 3
    >>> model = HMM().fit(X, y)
    >>> model.predict([["the", "bird", "sleeps"]])
    [['DT', 'NN', 'VB']]
    """

    _parameters: ClassVar[ParameterTable] = HMMDistribution._parameters | EM | {
        "alpha": PSEUDO_COUNT | ABSENT, "transition_alpha": PSEUDO_COUNT, "start_alpha": PSEUDO_COUNT | ABSENT,
        "interpolation": OneOf("auto", "deleted") | NUMBERS | ABSENT, "unknown": OneOf("suffix", "shape", "uniform"),
        "stop": OneOf(True, False), "n_components": Integer(at_least=1) | ABSENT, "init": OneOf(*INITS) | LABEL_WEIGHTS,
    }  # fmt: skip

    _state: HMMState
    _hidden: bool  # whether labels were, so that counts are expected ones

    def __init__(
        self,
        *,
        order: int = 1,
        alpha: float | None = None,
        transition_alpha: float = 0.1,
        start_alpha: float | None = None,
        interpolation: Any = "auto",
        unknown: Literal["suffix", "shape", "uniform"] = "suffix",
        stop: bool = True,
        n_components: int | None = None,
        init: Any = "auto",
        n_init: int = 1,
        tol: float = 1e-4,
        max_iter: int = 100,
        constraints: Any = None,
        features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.order = order
        self.alpha = alpha
        self.transition_alpha = transition_alpha
        self.start_alpha = start_alpha
        self.interpolation = interpolation
        self.unknown = unknown
        self.stop = stop
        self.n_components = n_components
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.constraints = constraints
        self.features = features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    # Learning

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        lengths: Any = None,
        sample_weight: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Count, or find what is hidden.

        Parameters
        ----------
        X : list of sequences, or CSR of shape (n_tokens, n_features)
            A sequence is a list of tokens: strings, lists of strings or dicts.
        y : list of lists of labels, or with a CSR one array, optional
            None, or −1 among numbers, in the place of a label or of the labels of a sequence: they are hidden. A set of
            labels: one of these, which one is hidden.
        lengths : array of shape (n_sequences,), optional
            How many tokens each sequence has; with a CSR.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts: as often as its weight says; 0: as if it was not there.
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
        model = self._working_copy()
        model._check_parameters()
        model._forget_fit()
        tokens, labels = model._read_training_data(X, y, lengths, sample_weight)
        codes = labels.codes
        Constraints.resolve(self.constraints, model.classes_)
        limits = decisive_limits(self.n_init, self.max_iter, self.tol)
        file = model._checkpoint_of(tokens, labels, checkpoint, checkpoint_interval, resume, **limits)
        hidden = np.add.reduceat(np.append(codes < 0, False), tokens.starts[:-1]) * (tokens.lengths > 0) > 0
        model._hidden = bool(hidden.any())
        known = model._count(*some_of(tokens, labels, ~hidden))
        if not model._hidden:
            return self._take_fitted(model._install(known))
        parts, numbers = some_of(tokens, labels, hidden), np.flatnonzero(hidden)
        em = BaumWelch(*parts, numbers, known, *model._em_priors(), self.n_jobs)
        monitor = FitMonitor(self.max_iter, make_callback(model, lambda: model._install(em.counts())), file)
        n_starts, generator, start = model._starts(tokens, labels.token_weights(tokens.starts), known, monitor)
        best = best_run(em, monitor, self.tol, n_starts, lambda: em.start(start()), generator)
        self._take_fitted(model._install(best.counts)._record_fit(best))
        self._warn_of_run(best)
        return self

    def partial_fit(self, X: Any, y: Any, *, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Add labelled sequences to the counts: however the data are cut, the model is the same.

        New labels and new words may appear in any call.

        Parameters
        ----------
        X, y, lengths, sample_weight
            As for `fit`, without hidden labels.

        Returns
        -------
        self
            The model, with these sequences counted, too.
        """
        weighed = weigh_sequences(listed(X), y, lengths, sample_weight)
        return self._learn_more(*weighed)  # sequences are read before it is this learner's turn

    @learns
    def _learn_more(self, X: Any, y: Any, lengths: Any, weights: NDArray[np.float64]) -> Self:
        model, first = self._working_copy(), not self.__sklearn_is_fitted__()
        model._check_parameters()
        known = None if first else self._state
        if known is None:
            model._reset_features(X)
        elif self.order != known.transitions.order:
            raise ValueError(f"order={self.order}, but the model has {known.transitions.order}: fit it anew")
        else:
            model._copy_features()
        tokens = model._tokens_to_learn(X, lengths, None if first else self.n_features_in_)
        if not (first or tokens.n_tokens):
            return self
        labels = LabelEncoder()
        codes = labels.learn(as_lists(y), tokens)
        classes = labels.classes_ if first else union_of_labels(self.classes_, labels.classes_)
        Constraints.resolve(self.constraints, classes)
        codes = label_positions(classes, labels.classes_)[codes]
        K, V = len(classes), tokens.rows.n_columns
        model.classes_, model._words = classes, model._all_words(X) and (first or self._words)
        model._hidden = not first and self._hidden
        model._forget_fit()
        of_tokens = np.repeat(weights, tokens.lengths) if len(weights) else weights
        lock = SharedLock() if known is None else known.lock

        def add() -> None:
            counts, transitions = ClassCounts.zeros(V, K, NO_PRIOR), Transitions.none(K, int(self.order))
            with lock.writing():
                if known is not None:
                    where = label_positions(classes, self.classes_)
                    counts, transitions = known.counts.resized(NO_PRIOR, where, K, V), known.transitions.under(where, K)
                counts.add(tokens.rows, codes, of_tokens, self.n_jobs, keep=False)
                transitions.add(*Transitions.of(codes, tokens.starts, K, int(self.order), weights).tables())
                self._take_fitted(model._set_state(counts, transitions, lock))

        thread_calls.run_uninterrupted(add)
        return self

    # What it knows

    @property
    def interpolation_(self) -> tuple[float, ...] | None:
        """λ."""
        state = self._known()
        return state.transitions.weights(state.smoothing)

    def _known(self) -> HMMState:
        self._check_fitted()
        return self._state

    def _snapshot(self) -> Self:
        view = super()._snapshot()
        state = view.__dict__.get("_state")
        if view is self or state is None or "emissions" in state.__dict__:
            return view
        return self._view_of_state(lambda view: view._state.make())

    def _lasting(self) -> Self:
        return self._view_of_state(lambda view: view.__dict__.update(_state=view._state.copied()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    # Parts

    def _read_training_data(self, X: Any, y: Any, lengths: Any, sample_weight: Any) -> tuple[Tokens, LabelCodes]:
        """Tokens and codes to fit this copy of the model to, −1 for labels that are hidden."""
        X, y, lengths, weights = weigh_sequences(listed(X), y, lengths, sample_weight)
        self._reset_features(X)
        tokens = self._tokens_to_learn(X, lengths, None)
        self.n_features_in_, self._words = tokens.rows.n_columns, self._all_words(X)
        classes, labels = as_partly_labelled(y, tokens)
        if classes is None:
            if self.n_components is None:
                raise ValueError("no label is known: n_components must say how many states there are")
            if self.n_components > tokens.n_tokens:
                raise ValueError(f"n_components={self.n_components} are more states than the {tokens.n_tokens} tokens")
            classes = np.arange(int(self.n_components))
            labels = LabelCodes(labels.codes, len(classes))
        elif self.n_components not in (None, len(classes)):
            raise ValueError(f"n_components={self.n_components}, but y has {len(classes)} labels, which are the states")
        self.classes_ = classes
        return tokens, replace(labels, weights=weights)

    def _check_parameters(self) -> None:
        """Check what does not depend on the data."""
        self._check_shared()
        check_parameters(self)
        if self.interpolation != "auto":
            as_weights(self.interpolation, int(self.order))
        if isinstance(self.init, str):
            one_of("init", self.init, INITS)

    def _priors(self) -> tuple[EmissionPrior, Smoothing]:
        """The priors that the parameters say."""
        guessed = self._words and self.unknown in WORD_CLASSES
        alpha = (0.0 if guessed else 0.01) if self.alpha is None else float(self.alpha)
        start = self.transition_alpha if self.start_alpha is None else self.start_alpha
        weights = self.interpolation
        if isinstance(weights, str) and weights == "auto":
            weights = "deleted" if int(self.order) == 2 and not self._hidden else None
        elif weights is not None and self._hidden:
            raise ValueError("interpolation must be None or 'auto' where labels are hidden: EM has no use for it")
        weights = as_weights(weights, int(self.order))
        smoothing = Smoothing(float(start), float(self.transition_alpha), bool(self.stop), weights)
        return EmissionPrior(alpha, [] if self._words else None, self.unknown), smoothing

    def _em_priors(self) -> tuple[EmissionPrior, Smoothing]:
        """The priors of EM, to which all words are those that were seen."""
        vocabulary, smoothing = self._priors()
        return replace(vocabulary, unknown="uniform"), smoothing

    def _count(self, tokens: Tokens, labels: LabelCodes) -> HMMCounts:
        """The counts of labelled sequences."""
        K, weights = len(self.classes_), labels.token_weights(tokens.starts)
        counts = ClassCounts.zeros(self.n_features_in_, K, NO_PRIOR)
        counts.add(tokens.rows, labels.codes, np.empty(0) if weights is None else weights, self.n_jobs, keep=False)
        transitions = Transitions.of(labels.codes, tokens.starts, K, int(self.order), labels.weights)
        return HMMCounts(counts.features, counts.labels, transitions)

    def _starts(
        self, tokens: Tokens, weights: NDArray[np.float64] | None, known: HMMCounts, monitor: FitMonitor
    ) -> tuple[int, FitGenerator | None, Callable[[], HMMParameters]]:
        """How often EM begins, what that is drawn from, and where it does."""
        V, K = known.features.shape
        order, stop = int(self.order), bool(self.stop)
        if not isinstance(self.init, str):
            given = as_start(self.init, V, K, order, stop)
            return 1, None, lambda: given
        rows = tokens.rows
        values = rows.values if weights is None else rows.values * np.repeat(weights, np.diff(rows.indptr))
        words = np.bincount(rows.indices, values, minlength=V).astype(np.float64)
        if self.init == "labels" or (self.init == "auto" and known.labels.any()):
            if not known.labels.any():
                raise ValueError("init='labels', but no sequence has all its labels")
            share = words / words.sum() if words.any() else np.full(V, 1.0 / V)
            sums = HMMCounts(known.features + share[:, np.newaxis], known.labels, known.transitions)
            vocabulary, smoothing = self._em_priors()
            raised = replace(smoothing, start=smoothing.start + 1, step=smoothing.step + 1)
            return 1, None, lambda: HMMParameters.of(sums, vocabulary, raised)
        generator = monitor.register_generator(validation.as_generator(self.random_state))
        return int(self.n_init), generator, lambda: HMMParameters.random(words, K, order, stop, generator.generator)

    def _install(self, sums: HMMCounts) -> Self:
        return self._set_state(ClassCounts(sums.features, sums.labels, NO_PRIOR), sums.transitions)

    def _set_state(self, counts: ClassCounts, transitions: Transitions, lock: SharedLock | None = None) -> Self:
        self.n_features_in_ = len(counts.features)
        names = self._attributes if self._words else None
        self._state = HMMState(counts, transitions, *self._priors(), names, lock)
        return self

    def _describe_components(self, components: set[int]) -> str:
        return f"{len(components)} of {len(self.classes_)} states"
