"""`MaxentLM`: a log-linear model of the next word, with a weight for each n-gram."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import storage
from fastlin.core.callbacks import make_callback
from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.backoff_base import BackoffLanguageModel
from fastlin.lm.maxent_fit import LARGEST_VARIANCE, SMALLEST_VARIANCE, SOLVERS, LogLinearFit, MaxentFit
from fastlin.lm.model_m import ModelM
from fastlin.lm.model_m_fit import ModelMFit
from fastlin.lm.ngram import HIGHEST, counted_as
from fastlin.lm.sentences import DIRECTIONS, SENTENCES, SentenceReader
from fastlin.lm.skip_gram_fit import SkipGramFit
from fastlin.lm.skip_grams import SkipGramModel
from fastlin.lm.vocabulary import BEGIN, MARKS
from fastlin.lm.word_classes import WordClasses
from fastlin.lm.word_model import WordModel
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.runtime.parallel import WorkerPool
from fastlin.validation import as_generator, real_number, whole_number
from fastlin.validation.choices import Direction, Markup, Unit
from fastlin.validation.parameter_kinds import (
    ABSENT,
    NUMBERS,
    RUN,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
    estimator,
)

Floats = NDArray[np.float64]
VARIANCES, VARIANCES_WITH_CLASSES = (5.0, 4.0, 2.0, 1.0), (5.0, 2.5, 1.2)
SEARCHES = "auto", "lbfgs", "cg", "gd"  # solvers that need no products with the Hessian, and no mini-batches
TOLERANCES = 1e-2, 1e-1  # the latter with classes, where the bound is looser


@dataclass(frozen=True)
class MaxentState:
    """The learnt state: the model that the weights are."""

    model: WordModel
    reader: SentenceReader


class MaxentLM(StatefulEstimator[MaxentState], BackoffLanguageModel):
    """A maximum-entropy n-gram model: p(w | h) = exp Σ_g θ_g / Z(h), over the n-grams g that end the text h w.

    Minimises Σ −log p(w | h) + Σ_g (θ_g − μ_g)²/2σ²_g, with a σ² for each order. Each n-gram seen in training is a
    feature, so that without a prior the optimum is the relative frequency, and the prior is all the smoothing there is.
    The sums over the vocabulary cost what is active: a value and its gradient touch each n-gram once. As
    p(w | h) = p(w | h′) Z(h′)/Z(h) for words that were not seen after h, the model is a back-off model, written to ARPA
    files as any other, and every solver starts at modified Kneser and Ney's.

    What no sentence of the training text holds (the unknown word, words of a given vocabulary) has no evidence: it
    counts as seen as often as Kneser and Ney expect it, without a history, and its μ is the weight that it has there.
    All other μ are 0.

    Parameters
    ----------
    order : int
        The n of n-grams, from 1 to 64.
    prior_variance : float, list of float, or None
        σ² of each order's weights, from 1e-12 to 1e12, that of unigrams first; the last holds for all orders that
        follow. None: 5, 4, 2, 1, with classes 5, 2.5, 1.2.
    cutoff : int or list of int
        N-grams seen less often have no weight, for each order from bigrams' on, the last for all that follow.
    classes : int, WordClasses or None
        Model M (Chen 2009), of order 2 or more: p(w | h) = p(c(w) | h) p(w | h, c(w)), both log-linear, where histories
        are words and classes; of p(c(w) | h) the last two words. A number: that many `WordClasses` of the same text,
        100 being good for a million words. It is no back-off model: there are no ARPA files of it.
    skip_grams : int
        Pairs of words with 1 to so many words between them have weights, too, with the bigrams' cut-off and a quarter
        of their σ². The normaliser stays exact, and costs the words that were seen after two of a context's parts. Not
        with classes; solvers are L-BFGS, "cg" and "gd". It is no back-off model.
    solver : str
        "auto" (L-BFGS), "lbfgs", "newton" (truncated Newton), "cg" (nonlinear conjugate gradients) or "gd" (steepest
        descent), all to the one optimum; "sgd" (averaged) or "adagrad", over mini-batches of histories, which come
        near it.
    max_iter : int
        Iterations of the solver at most, or epochs of a stochastic one; its best epoch is kept.
    tol : float or None
        The fit has converged when ½ Σ σ²g² ≤ tol · f, where g is the gradient of the objective f: f is then at most so
        much above the optimum. (The bound is some hundred times larger than the truth.) None: 0.01, with classes 0.1.
    min_count, vocabulary, unk, unit, direction, markup, n_jobs
        As `NgramModel` has them. Threads share an evaluation, too; the bits are the same.
    random_state : int, RandomState, Generator or None
        What the order of a stochastic solver's mini-batches is drawn from.
    verbose : int
        1 prints a line an iteration.
    callback : callable or None
        `callback(model, record)` after every record of `history_`; a true answer ends the fit.

    Attributes
    ----------
    words_ : list of str
        The words that may come next, "</s>" first.
    n_grams_ : list of int
        How many of each order.
    weights_ : list of ndarray
        θ of each order's n-grams, in the order of `ngrams(n)`; the unigrams without the mark that begins a sentence.
        Then those of `skip_grams_`. With classes, of classes and of words within them.
    skip_grams_ : list of tuple
        With `skip_grams`, each pair: a word, how many words between, a word.
    word_classes_ : ndarray of int32, shape (n_words,)
        With `classes`, that of each of `words_`.
    prior_variance_ : ndarray of shape (order,)
        σ² of each order: as given, or as validation data chose them.
    tuning_ : list of dict
        With validation data, each trial: prior_variance and perplexity.
    objective_ : float
    history_ : list of dict
        iteration, seconds, objective, gradient_norm (the bound of `tol`), passes.
    certificate_ : dict
        objective; duality_gap, the bound of `tol`; moment_gap, the largest |observed − expected| count.
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> from fastlin.lm import MaxentLM
    >>> model = MaxentLM(order=2, prior_variance=1.0).fit(["the cat sat", "the dog sat", "a cat ran"])
    >>> model.top(["the"], 1)[0][0]
    'cat'
    >>> round(float(model.next_word(["the"]).sum()), 6)
    1.0
    """

    _parameters: ClassVar[ParameterTable] = SENTENCES | RUN | {
        "order": Integer(at_least=1, at_most=HIGHEST), "prior_variance": Real(at_least=0) | NUMBERS | ABSENT,
        "cutoff": Integer(at_least=1) | NUMBERS, "classes": Integer(at_least=1) | estimator("fit") | ABSENT,
        "direction": OneOf(*DIRECTIONS), "solver": OneOf(*SOLVERS), "tol": Real(at_least=0) | ABSENT,
        "max_iter": Integer(at_least=1), "skip_grams": Integer(at_least=0, at_most=HIGHEST - 2),
    }  # fmt: skip

    def __init__(
        self,
        order: int = 3,
        prior_variance: float | Sequence[float] | None = None,
        *,
        cutoff: int | Sequence[int] = 1,
        classes: Any = None,
        skip_grams: int = 0,
        solver: Literal["auto", "lbfgs", "gd", "cg", "newton", "sgd", "adagrad"] = "auto",
        max_iter: int = 100,
        tol: float | None = None,
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
        self.order = order
        self.prior_variance = prior_variance
        self.cutoff = cutoff
        self.classes = classes
        self.skip_grams = skip_grams
        self.solver = solver
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

    # --- learning ----------------------------------------------------------------------------------------------------

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_val: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Find the optimum.

        Parameters
        ----------
        X : list of sentences, path, open file, or what `fastlin.data.read` returns
            As for `NgramModel`.
        y : ignored
        X_val : the same, optional
            A validation text: `prior_variance` is where the search for the σ² that suit it best begins.
        checkpoint : path, optional
            A file that says where the fit stands, written between two iterations.
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
        solver, generator = self.solver, as_generator(self.random_state)
        tol = TOLERANCES[self.classes is not None] if self.tol is None else float(self.tol)
        model, variances = self._working_copy(), self._variances()
        with WorkerPool(self.n_jobs) as workers:
            fit = self._begin(X, variances, workers)
            model.tuning_ = [] if X_val is None else fit.tune(fit.read(X_val))
            identity = storage.identity(self, fit.fingerprint(), variances=fit.variances)
            file = storage.Checkpoint(checkpoint, checkpoint_interval, resume, identity)
            report = make_callback(model, lambda: model._install(fit))
            monitor = ConvergenceMonitor(tol, int(self.max_iter), 1.0, report, file)
            fit.minimise(monitor, solver, generator)
            model._install(fit)._record(fit, monitor)
        self._take_fitted(model)
        if not (monitor.converged or monitor.stopped):
            gap = self.certificate_["duality_gap"]
            warnings.warn(
                f"MaxentLM ended after {monitor.iterations} iterations; its objective is at most {gap:.2g} of itself "
                f"above the optimum (tol={tol}): raise max_iter or tol, or give a smaller prior_variance.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _variances(self) -> Floats:
        """σ² of each order."""
        given = self.prior_variance
        if given is None:
            given = VARIANCES if self.classes is None else VARIANCES_WITH_CLASSES
        values = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else [given]
        if not values:
            raise ValueError(f"prior_variance must hold a number for at least one order, got {given!r}")
        bounds = {"at_least": SMALLEST_VARIANCE, "at_most": LARGEST_VARIANCE}
        values = [real_number("prior_variance", each, **bounds) for each in values]
        return np.array((values + values[-1:] * int(self.order))[: int(self.order)])

    def _begin(self, X: Any, variances: Floats, workers: WorkerPool) -> LogLinearFit:
        """The objective of a text, and where the search for its optimum begins."""
        if self.classes is not None and self.order == 1:
            raise ValueError("classes need an order of at least 2, got 1")
        n_skips = int(self.skip_grams)
        if n_skips:
            self._check_skips()
            longest = max(int(self.order), n_skips + 2)
            return SkipGramFit(counted_as(self, X, longest, self.cutoff), self.order, n_skips, variances, workers)
        state = counted_as(self, X, self.order, self.cutoff)
        if self.classes is None:
            return MaxentFit(state, variances, workers)
        classes = self.classes
        if not isinstance(classes, WordClasses):
            classes = WordClasses(whole_number("classes", classes, MARKS + 1))._fit_counts(*state.known, state.reader)
        numbers = [*range(MARKS), *(classes.class_of(word) for word in state.known[0].names[MARKS:])]
        return ModelMFit(state, np.array(numbers, np.int32), variances, workers)

    def _check_skips(self) -> None:
        """ValueError where skip-grams do not go with the other parameters."""
        if self.classes is not None:
            raise ValueError("skip_grams and classes exclude each other: classes have normalisers of their own")
        if self.order == 1:
            raise ValueError("skip_grams need an order of at least 2, got 1")
        if self.solver not in SEARCHES:
            raise ValueError(f"skip_grams need one of the solvers {', '.join(SEARCHES)}, got {self.solver!r}")

    def _install(self, fit: LogLinearFit) -> Self:
        """Have the weights of a fit, as far as it is."""
        self._state_of_fit = MaxentState(fit.model(), fit.counts.reader)
        self.weights_ = [part.copy() for part in fit.objective.split(fit.theta)]
        self.prior_variance_ = fit.variances.copy()
        return self

    def _record(self, fit: LogLinearFit, monitor: ConvergenceMonitor) -> None:
        self.history_, self.n_iter_, self.converged_ = monitor.history, monitor.iterations, monitor.converged
        self.certificate_ = fit.certificate()
        self.objective_ = self.certificate_["objective"]

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    def _word_model(self) -> WordModel:
        return self._learnt.model

    @property
    def _backoff_model(self) -> BackoffModel:
        model = self._learnt.model
        if isinstance(model, SkipGramModel):
            raise AttributeError(
                "a model with skip-grams is no back-off model: what its probabilities sum to depends on words that the "
                "longest n-grams do not hold, so it has no back-off weights and no ARPA file"
            )
        if not isinstance(model, BackoffModel):
            raise AttributeError("a model with classes is no back-off model: it has no n-grams and no ARPA file")
        return model

    @property
    def _ngrams(self) -> BackoffModel:
        model = self._learnt.model
        return model.ngrams if isinstance(model, SkipGramModel) else self._backoff_model

    @property
    @reads
    def word_classes_(self) -> NDArray[np.int32]:
        """With `classes`, the class of each of `words_`."""
        model = self._learnt.model
        if not isinstance(model, ModelM):
            raise AttributeError("a model without classes= has no classes of words")
        return model.classes[BEGIN + 1 :]

    @property
    @reads
    def skip_grams_(self) -> list[tuple[str, int, str]]:
        """With `skip_grams`, each pair: a word, how many words between, a word."""
        model = self._learnt.model
        if not isinstance(model, SkipGramModel):
            raise AttributeError("a model without skip_grams= has no such pairs")
        names = model.vocabulary.names
        return [(names[u], between, names[w]) for between, u, w in model.pairs.triples()]

    def _reader(self) -> SentenceReader:
        return self._learnt.reader
