"""Fits of maximum-entropy language models: counts, an objective, weights as far as they are."""

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.fit_records import FitCertificate
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.maxent_objective import NgramObjective, lay_out, weights_of
from fastlin.lm.ngram import NgramState
from fastlin.lm.vocabulary import BEGIN
from fastlin.lm.word_model import WordModel
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.solvers import conjugate_gradient, lbfgs, minibatch, newton
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
LARGEST_VARIANCE, SMALLEST_VARIANCE = 1e12, 1e-12
TUNING_FACTOR = 1.6  # by which a variance is first raised or lowered
TUNING_ROUNDS = 2  # over all orders; the factor's root is taken after each
TUNING_ITERATIONS = 6  # from the weights of the last trial
WORTH_IT = 1e-3  # of the perplexity: less is no better
SOLVERS: dict[str, Any] = {
    "auto": lbfgs.minimise,
    "lbfgs": lbfgs.minimise,
    "gd": conjugate_gradient.steepest_descent,
    "cg": conjugate_gradient.nonlinear_cg,
    "newton": newton.minimise,
    "sgd": minibatch.averaged_sgd,
    "adagrad": minibatch.adagrad,
}


class LogLinearFit(ABC):
    """The objective of some counts, and its weights as far as they are; a subclass makes objective and model.

    `raw` are the counts of the n-grams that have weights, of which the back-off model `start` is Kneser and Ney's.
    """

    objective: Any
    theta: Floats
    mean: Floats
    _variances: Floats

    def __init__(self, counts: NgramState, workers: WorkerPool) -> None:
        self.counts, self.workers = counts, workers
        with warnings.catch_warnings():  # a start may be rough
            warnings.simplefilter("ignore")
            self.start: BackoffModel = counts.estimate.model
        raw = counts.known[1].counts
        self.kept = [
            each >= counts.smoothing.cutoff(n) if n else np.ones(len(each), bool) for n, each in enumerate(raw)
        ]
        self.raw = [each[some] for each, some in zip(raw, self.kept, strict=True)]

    @abstractmethod
    def set_variances(self, variances: Floats) -> None:
        """Go on with other σ²."""

    @abstractmethod
    def model(self) -> WordModel:
        """The model of the present weights."""

    @property
    def variances(self) -> Floats:
        """σ² of each order."""
        return self._variances

    def minimise(self, monitor: ConvergenceMonitor, solver: str = "auto", generator: Any = None) -> None:
        SOLVERS[solver](self.objective, self.theta, monitor, generator)

    def certificate(self) -> FitCertificate:
        gradient = np.empty(len(self.theta))
        value = self.objective.value(self.theta, gradient)
        pulls = (self.theta - self.mean) * self.objective.prior.precision
        return {
            "objective": value,
            "duality_gap": self.objective.distance(self.theta, gradient),
            "moment_gap": float(np.abs(gradient - pulls).max()),
        }

    def fingerprint(self) -> dict[str, Any]:
        """The counts, by which a checkpoint tells one fit from another."""
        found = self.counts.known[1]
        return {"n_grams": [len(each) for each in found.counts], "counts": found.counts, "words": found.words}

    # --- validation --------------------------------------------------------------------------------------------------

    def read(self, X: Any) -> list[NDArray[np.int32]]:
        """The tokens of a validation text."""
        blocks = list(self.counts.reader.blocks(X, self.start.vocabulary.table, False))
        if not blocks:
            raise ValueError("X_val holds no sentence")
        return blocks

    def tune(self, validation: list[NDArray[np.int32]]) -> list[dict[str, Any]]:
        """Search for the σ² of the least perplexity, an order at a time; the weights of the best trial are kept."""
        trials: list[dict[str, Any]] = []
        best = self._try(self.variances, validation, trials)
        theta, factor = self.theta.copy(), TUNING_FACTOR
        for _ in range(TUNING_ROUNDS):
            for n in reversed(range(len(self.variances))):
                for raised in (factor, 1 / factor):
                    variances, improved = self.variances, False
                    while True:
                        tried = variances.copy()
                        tried[n] = min(max(tried[n] * raised, SMALLEST_VARIANCE), LARGEST_VARIANCE)
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
        self.minimise(ConvergenceMonitor(0.0, TUNING_ITERATIONS, 1.0))
        model, total, n = self.model(), 0.0, 0
        for tokens in validation:
            total += float(model.score(tokens)[0].sum())
            n += int(np.count_nonzero(tokens != BEGIN))
        perplexity = float(np.exp(-total / n))
        trials.append({"prior_variance": variances.tolist(), "perplexity": perplexity})
        return perplexity


class MaxentFit(LogLinearFit):
    """The fit of a maximum-entropy n-gram model, from Kneser and Ney's weights."""

    def __init__(self, counts: NgramState, variances: Floats, workers: WorkerPool) -> None:
        super().__init__(counts, workers)
        self.orders = lay_out(self.start, self.raw)
        weights = weights_of(self.start)
        self.theta = np.concatenate([weights[0][BEGIN + 1 :], *weights[1:]])
        self.mean = np.zeros(len(self.theta))
        MaxentFit.set_variances(self, variances)  # a subclass has more to lay out before its own
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
        self._variances = variances
        self.objective = NgramObjective(self.orders, variances, self.mean, self.workers)

    def model(self) -> WordModel:
        """The model of the present weights."""
        return self.objective.model(self.theta, self.start)
