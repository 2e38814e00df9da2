"""What is a fair price of an optimum?

A contender's price is a whole fit at the loosest of its settings whose finished model is within `GAP`
of the optimum, as a share of it. The setting is searched before the clock starts. It is a tolerance;
for stochastic solvers, whose tolerances measure steps, a number of epochs. The optimum is what our
Newton's method reaches at a tolerance that hardly leaves it anything: its certificate bounds what is left.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

import numpy as np
from scipy import sparse

from rivals import LOGISTIC_DUAL, LOGISTIC_PRIMAL, Liblinear
from timing import seconds

GAP = 1e-6
TOLERANCES = tuple(10.0 ** (-power / 2) for power in range(21))  # 1 … 1e-10
EPOCHS = tuple(round(4 * 2 ** (power / 2)) for power in range(20))
GUESSES = {LOGISTIC_PRIMAL: 1e-4, LOGISTIC_DUAL: 0.1}
ENOUGH = 100_000  # iterations: the tolerance decides

Weights = tuple[np.ndarray, np.ndarray]  # a row a label (one row for two labels), and the intercepts


@dataclass(frozen=True)
class Objective:
    """Σ −log p + ½‖θ‖²/C of a data set; the intercepts are free unless ``bias_penalised``."""

    X: sparse.csr_matrix
    y: np.ndarray
    C: float
    fit_intercept: bool = True
    bias_penalised: bool = False

    def value(self, weights: Weights) -> float:
        """In float64, whatever the model was learnt in."""
        coef, intercept = (np.asarray(part, dtype=np.float64) for part in weights)
        scores = self.X @ np.ascontiguousarray(coef.T) + intercept
        if len(coef) == 1:
            losses = np.logaddexp(0.0, np.where(self.y > 0, -scores[:, 0], scores[:, 0]))
        else:
            losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(self.y)), self.y]
        squares = float(np.sum(coef**2)) + self.bias_penalised * float(np.sum(intercept**2))
        return float(losses.sum()) + 0.5 * squares / self.C

    def optimum(self, tol: float = 1e-10) -> tuple[float, float]:
        """The lowest value, and a bound of its distance from the true minimum, as a share of it."""
        objective, X = self, self.X
        if self.bias_penalised:  # a column of ones is an intercept with a prior
            X = sparse.csr_matrix(sparse.hstack([X, np.ones((X.shape[0], 1))]))
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
            objective = replace(self, X=X, fit_intercept=False, bias_penalised=False)
        model = quietly(lambda: ours(objective, solver="newton", max_iter=1_000).fit(tol))
        return objective.value((model.coef_, model.intercept_)), model.certificate_["duality_gap"] / model.objective_


@dataclass(frozen=True)
class Contender:
    """A way to an optimum: ``fit`` takes one of the settings, or None for its author's; ``weights`` reads the model."""

    name: str
    fit: Callable[[float | None], Any]
    weights: Callable[[Any], Weights]
    settings: Sequence[float] = TOLERANCES  # loosest first
    guess: float = 3e-5  # where to look first
    unit: str = "tol"


@dataclass(frozen=True)
class Price:
    setting: float
    gap: float
    seconds: float

    @property
    def reached(self) -> bool:
        return self.gap <= GAP


def quietly(call: Callable[[], Any]) -> Any:
    """That a fit stops before its own tolerance is measured here, not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def _learnt(model: Any) -> Weights:
    return model.coef_, model.intercept_


def ours(objective: Objective, solver: str = "auto", name: str = "", max_iter: int = ENOUGH, **more: Any) -> Contender:
    """fastlin's LogisticRegression."""
    from fastlin import LogisticRegression

    def fit(tol: float | None) -> Any:
        strict = {} if tol is None else {"tol": tol, "max_iter": max_iter}
        settings = {"C": objective.C, "fit_intercept": objective.fit_intercept, "random_state": 0} | more | strict
        return LogisticRegression(solver=solver, **settings).fit(objective.X, objective.y)

    return Contender(name or f"ours {solver}", fit, _learnt)


def scikit_learn(objective: Objective, solver: str, guess: float = 1e-6, name: str = "") -> Contender:
    """scikit-learn's LogisticRegression; sag and saga by epochs."""
    from sklearn.linear_model import LogisticRegression

    stochastic = solver in ("sag", "saga")

    def fit(setting: float | None) -> Any:
        strict: dict[str, Any] = {}
        if setting is not None:
            strict = {"tol": 0.0, "max_iter": int(setting)} if stochastic else {"tol": setting, "max_iter": ENOUGH}
        settings = {"C": objective.C, "fit_intercept": objective.fit_intercept, "random_state": 0} | strict
        return LogisticRegression(solver=solver, **settings).fit(objective.X, objective.y)

    contender = Contender(name or f"scikit-learn {solver}", fit, _learnt, guess=guess)
    return replace(contender, settings=EPOCHS, unit="epochs") if stochastic else contender


def liblinear(objective: Objective, solver: int) -> Contender:
    """One of LIBLINEAR's solvers, for two labels; an intercept is a feature that is 1, and penalised."""
    problem = Liblinear(objective.X, objective.y, solver, objective.C, 1.0 if objective.fit_intercept else -1.0)

    def weights(model: Any) -> Weights:
        flat = problem.weights(model)[None, :]
        return (flat[:, :-1], flat[:, -1]) if objective.fit_intercept else (flat, np.zeros(1))

    return Contender(f"LIBLINEAR -s {solver}", problem.train, weights, guess=GUESSES[solver], unit="-e")


def loosest(contender: Contender, objective: Objective, best: float, limit: float = inf) -> Price:
    """The first setting that reaches `GAP`, in steps from the guess: looser while it is reached, else tighter.

    Where none does, or a fit took longer than the limit: what the last fit took, and its gap.
    """

    def attempt(place: int) -> Price:
        models: list[Any] = []
        spent = quietly(lambda: seconds(lambda: models.append(contender.fit(contender.settings[place]))))
        gap = objective.value(contender.weights(models[0])) / best - 1.0
        return Price(contender.settings[place], gap, spent)

    place = min(range(len(contender.settings)), key=lambda i: abs(log(contender.settings[i] / contender.guess)))
    price = attempt(place)
    while price.reached and place > 0:
        place -= 1
        looser = attempt(place)
        if not looser.reached:
            break
        price = looser
    while not price.reached and place + 1 < len(contender.settings):
        if price.seconds > limit:
            break
        place += 1
        price = attempt(place)
    return price
