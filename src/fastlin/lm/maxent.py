"""`MaxentLM`: a log-linear model of the next word, with a weight for each n-gram."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fastlin import store
from fastlin.core.estimator import learns
from fastlin.linear.reporting import reporter
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.base import BackoffLanguageModel
from fastlin.lm.maxent_objective import NgramObjective, lay_out, weights_of
from fastlin.lm.ngram import HIGHEST, NgramModel, NgramState
from fastlin.lm.sentences import SentenceReader
from fastlin.lm.vocabulary import BEGIN
from fastlin.optim import lbfgs
from fastlin.optim.progress import Progress
from fastlin.run import Workers
from fastlin.validation import as_callback, as_verbose, real_number, whole_number

Floats = NDArray[np.float64]
LARGEST_VARIANCE = 1e12
TUNING_FACTOR = 1.6  # by which a variance is first raised or lowered
TUNING_ROUNDS = 2  # over all orders; the factor's root is taken after each
TUNING_ITERATIONS = 6  # from the weights of the last trial
WORTH_IT = 1e-4  # of the perplexity: less is no better


@dataclass(frozen=True)
class MaxentState:
    """What was learnt: the back-off model that the weights are."""

    model: BackoffModel
    reader: SentenceReader


class MaxentLM(BackoffLanguageModel):
    """A maximum-entropy n-gram model: p(w | h) = exp Σ_g θ_g / Z(h), over the n-grams g that end the text h w.

    Minimises Σ −log p(w | h) + Σ_g (θ_g − μ_g)²/2σ²_g, with a σ² for each order. Each n-gram seen in training is a
    feature, so that without a prior the optimum is the relative frequency, and the prior is all the smoothing there is.
    The sums over the vocabulary cost what is active: a value and its gradient touch each n-gram once. As
    p(w | h) = p(w | h′) Z(h′)/Z(h) for words that were not seen after h, the model is a back-off model, written to ARPA
    files as any other, and L-BFGS starts at modified Kneser and Ney's.

    What no sentence of the training text holds (the unknown word, words of a given vocabulary) has no evidence: it
    counts as seen as often as Kneser and Ney expect it, without a history, and its μ is the weight that it has there.
    All other μ are 0.

    Parameters
    ----------
    order : int
        The n of n-grams, from 1 to 64.
    prior_variance : float or list of float
        σ² of each order's weights, that of unigrams first; the last holds for all orders that follow.
    cutoff : int or list of int
        N-grams seen less often have no weight, for each order from bigrams' on, the last for all that follow.
    max_iter : int
        Iterations of L-BFGS at most.
    tol : float
        The fit has converged when ½ Σ σ²g² ≤ tol · f, where g is the gradient of the objective f: f is then at most so
        much above the optimum. (The bound is some hundred times larger than the truth.)
    min_count, vocabulary, unk, unit, direction, markup, n_jobs
        As `NgramModel` has them. Threads share an evaluation, too; the bits are the same.
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

    def __init__(
        self,
        order: int = 3,
        prior_variance: float | Sequence[float] = (5.0, 4.0, 2.0, 1.0),
        *,
        cutoff: int | Sequence[int] = 1,
        max_iter: int = 100,
        tol: float = 1e-2,
        min_count: int = 1,
        vocabulary: Sequence[str] | None = None,
        unk: str | None = "<unk>",
        unit: str = "word",
        direction: str = "forward",
        markup: str = "raise",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.order = order
        self.prior_variance = prior_variance
        self.cutoff = cutoff
        self.max_iter = max_iter
        self.tol = tol
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.unk = unk
        self.unit = unit
        self.direction = direction
        self.markup = markup
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
        every: float = 60.0,
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
        every : float
            Seconds between two checkpoints; 0 makes one at every iteration.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        del y
        as_verbose(self.verbose)
        as_callback(self.callback)
        real_number("tol", self.tol, at_least=0)
        whole_number("max_iter", self.max_iter, 1)
        model, variances = self._working_copy(), self._variances()
        with Workers(self.n_jobs) as workers:
            fit = MaxentFit(self._counts(X), variances, workers)
            model.tuning_ = [] if X_val is None else fit.tune(fit.read(X_val))
            identity = store.identity(self, fit.fingerprint(), variances=fit.variances)
            file = store.Checkpoint(checkpoint, every, resume, identity)
            report = reporter(model, lambda: model._install(fit))
            progress = Progress(self.tol, int(self.max_iter), 1.0, report, file)
            fit.minimise(progress)
            model._install(fit)._record(fit, progress)
        self._become(model)
        if not (progress.converged or progress.stopped):
            gap = self.certificate_["duality_gap"]
            warnings.warn(
                f"MaxentLM ended after {progress.iterations} iterations; its objective is at most {gap:.2g} of itself "
                f"above the optimum (tol={self.tol}): raise max_iter or tol, or give a smaller prior_variance.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _variances(self) -> Floats:
        """σ² of each order."""
        order = min(whole_number("order", self.order, 1), HIGHEST)  # more is refused by the counts
        given = self.prior_variance
        values = [given] if isinstance(given, int | float | np.number) else list(given)
        if not values:
            raise ValueError("prior_variance must hold a number for at least one order")
        values = [real_number("prior_variance", each, above=0, at_most=LARGEST_VARIANCE) for each in values]
        return np.array((values + values[-1:] * order)[:order])

    def _counts(self, X: Any) -> NgramState:
        names = ("order", "cutoff", "min_count", "vocabulary", "unk", "unit", "direction", "markup", "n_jobs")
        return NgramModel(**{name: getattr(self, name) for name in names})._counted(X, None)

    def _install(self, fit: "MaxentFit") -> Self:
        """Have the weights of a fit, as far as it is."""
        self._state_of_fit = MaxentState(fit.model(), fit.counts.reader)
        self.weights_ = [part.copy() for part in fit.objective.split(fit.theta)]
        self.prior_variance_ = fit.variances.copy()
        return self

    def _record(self, fit: "MaxentFit", progress: Progress) -> None:
        self.history_, self.n_iter_, self.converged_ = progress.history, progress.iterations, progress.converged
        self.certificate_ = fit.certificate()
        self.objective_ = self.certificate_["objective"]

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    def _learnt(self) -> MaxentState:
        try:
            return self.__dict__["_state_of_fit"]
        except KeyError:
            raise NotFittedError("this MaxentLM has not been fitted; call fit first") from None

    @property
    def _backoff_model(self) -> BackoffModel:
        return self._learnt.model

    def _reader(self) -> SentenceReader:
        return self._learnt.reader

    def __sklearn_is_fitted__(self) -> bool:
        return "_state_of_fit" in self.__dict__


class MaxentFit:
    """The objective of some counts, and the weights as far as they are: at first, Kneser and Ney's."""

    def __init__(self, counts: NgramState, variances: Floats, workers: Workers) -> None:
        self.counts, self.workers = counts, workers
        with warnings.catch_warnings():  # a start may be rough
            warnings.simplefilter("ignore")
            self._start = counts.estimate.model
        raw = counts.known[1].counts
        kept = [each >= counts.smoothing.cutoff(n) if n else slice(None) for n, each in enumerate(raw)]
        self.orders = lay_out(self._start, [each[some] for each, some in zip(raw, kept, strict=True)])
        weights = weights_of(self._start)
        self.theta = np.concatenate([weights[0][BEGIN + 1 :], *weights[1:]])
        self.mean = np.zeros(len(self.theta))
        self.set_variances(variances)
        self._believe_in_the_unseen()

    def _believe_in_the_unseen(self) -> None:
        """Words without evidence count as seen as often as the start expects them; their μ is their weight there."""
        self.objective.value(self.theta, np.empty(len(self.theta)))
        observed = self.orders[0].observed
        unseen = np.flatnonzero(observed[BEGIN + 1 :] == 0)
        observed[BEGIN + 1 + unseen] = self.objective.expected()[unseen]
        self.orders[0].seen[0] += observed[BEGIN + 1 + unseen].sum()  # as events without a history
        self.mean[unseen] = self.theta[unseen]

    def set_variances(self, variances: Floats) -> None:
        """Go on with other σ²."""
        self.variances = variances
        self.objective = NgramObjective(self.orders, variances, self.mean, self.workers)

    def minimise(self, progress: Progress) -> None:
        lbfgs.minimise(self.objective, self.theta, progress, np.random.default_rng(0))

    def model(self) -> BackoffModel:
        return self.objective.model(self.theta, self._start)

    def certificate(self) -> dict[str, float]:
        gradient = np.empty(len(self.theta))
        value = self.objective.value(self.theta, gradient)
        pulls = (self.theta - self.mean) * self.objective.prior.precision
        return {
            "objective": value,
            "duality_gap": self.objective.distance(self.theta, gradient),
            "moment_gap": float(np.abs(gradient - pulls).max()),
        }

    def fingerprint(self) -> dict[str, Any]:
        """What tells one set of counts from another."""
        found = self.counts.known[1]
        return {"n_grams": [len(each) for each in found.counts], "counts": found.counts, "words": found.words}

    # --- validation --------------------------------------------------------------------------------------------------

    def read(self, X: Any) -> list[NDArray[np.int32]]:
        """The tokens of a validation text."""
        blocks = list(self.counts.reader.blocks(X, self._start.vocabulary.table, False))
        if not blocks:
            raise ValueError("X_val holds no sentence")
        return blocks

    def tune(self, validation: list[NDArray[np.int32]]) -> list[dict[str, Any]]:
        """Search for the σ² of the least perplexity, an order at a time; the weights of the best trial are kept."""
        trials: list[dict[str, Any]] = []
        best = self._try(self.variances, validation, trials)
        theta, factor = self.theta.copy(), TUNING_FACTOR
        for _ in range(TUNING_ROUNDS):
            for n in reversed(range(len(self.orders))):
                for raised in (factor, 1 / factor):
                    variances, improved = self.variances, False
                    while True:
                        tried = variances.copy()
                        tried[n] = min(tried[n] * raised, LARGEST_VARIANCE)
                        found = self._try(tried, validation, trials)
                        if not found < best * (1 - WORTH_IT):
                            break
                        best, variances, theta, improved = found, tried, self.theta.copy(), True
                    self.theta[:] = theta
                    self.set_variances(variances)
                    if improved:
                        break
            factor **= 0.5
        return trials

    def _try(self, variances: Floats, validation: list[NDArray[np.int32]], trials: list[dict[str, Any]]) -> float:
        """The perplexity of a validation text with other σ², a few iterations from the present weights."""
        self.set_variances(variances)
        self.minimise(Progress(0.0, TUNING_ITERATIONS, 1.0))
        model, total, n = self.model(), 0.0, 0
        for tokens in validation:
            total += float(model.score(tokens)[0].sum())
            n += int(np.count_nonzero(tokens != BEGIN))
        perplexity = float(np.exp(-total / n))
        trials.append({"prior_variance": variances.tolist(), "perplexity": perplexity})
        return perplexity
