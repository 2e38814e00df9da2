"""Fits of rows that lack some labels, as folds of a search may: the limit, where these have no probability.

The intercept of a label without a row falls without bound, its weights stay where the prior has them, and the others
are those of a model of the labels that are there. Of two labels that is a model in one column, w = θ₁ − θ₀: what the
prior says of two columns, λ₂/2 ‖θ‖² and λ₁‖θ‖₁, it says of w as λ₂/4 ‖w‖² and λ₁‖w‖₁. Without an intercept there is
no such limit, and nothing to do.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.dataset import DatasetView
from fastlin.core.multilabel import CERTAIN_SCORE
from fastlin.linear.logistic import LogisticRegression


class LabelsThere(NamedTuple):
    """The labels that rows have, among all, and the rows under these labels alone."""

    rows: DatasetView
    there: NDArray[np.int64]
    classes: NDArray[Any]

    @classmethod
    def of(cls, sample: DatasetView, model: LogisticRegression) -> "LabelsThere | None":
        """Those of some rows; None where that changes nothing."""
        there = np.flatnonzero(np.bincount(sample.codes(), minlength=len(sample.classes)))
        if len(there) == len(sample.classes) or not model.fit_intercept:
            return None
        places = np.full(len(sample.classes), -1, np.int32)
        places[there] = np.arange(len(there))
        return cls(sample.among(sample.classes[there], places), there, sample.classes)

    def reduced(self, model: LogisticRegression) -> LogisticRegression:
        """A model with the same prior on the labels that are there; of a fitted one, with its weights of them."""
        own = copy.copy(model)
        own.solver = "newton" if model.solver == "auto" else model.solver  # which begins where it is told to
        if np.ndim(model.prior_mean) == 2 and len(self.classes) > 2:
            means = np.asarray(model.prior_mean)[self.there]
            own.prior_mean = means[1:] - means[:1] if self._in_one_column(model) else means
        if self._in_one_column(model):
            own.C, own.l1_ratio, own.penalty = _prior_of_difference(model)
            if np.ndim(model.prior_mean) < 2:
                own.prior_mean = None
        if hasattr(model, "coef_"):
            coef, intercept = model.coef_[self.there], model.intercept_[self.there]
            if self._in_one_column(model):
                coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
            own.coef_, own.intercept_ = coef, intercept
        return own

    def beginnings(self, model: LogisticRegression, before: list[LogisticRegression]) -> list[LogisticRegression]:
        """Where a fit may begin: at fits before it, or where no row has been seen, near which a strong prior stays."""
        if not before:
            unseen = copy.copy(model)
            self.spread(None, unseen)
            before = [unseen]
        return [self.reduced(each) for each in before]

    def spread(self, own: LogisticRegression | None, model: LogisticRegression) -> None:
        """Give a model of all labels what one of those that are there has learnt; None: there is but one."""
        width = 1 if len(self.classes) == 2 and model.weights != "observed" else len(self.classes)
        coef = np.array(model._means(self.rows.n_features, width).T, model._type(self.rows.dataset), order="C")
        intercept = np.full(len(self.classes), -CERTAIN_SCORE)
        intercept[self.there] = 0.0
        if own is None:
            model.objective_, model.certificate_, model.history_ = 0.0, {"duality_gap": 0.0}, []
            model.converged_, model.n_iter_, model._stopped = True, np.zeros(1, np.int32), False
        else:
            for name in ("objective_", "certificate_", "history_", "converged_", "n_iter_", "_stopped"):
                setattr(model, name, getattr(own, name))
            sides = np.array([-0.5, 0.5])
            apart = self._in_one_column(model)
            weights = own.coef_ * sides[:, np.newaxis] if apart else own.coef_
            middle = coef[self.there].mean(axis=0) if apart else 0.0  # of the prior's means, which w says nothing of
            coef[self.there] = middle + weights
            intercept[self.there] = own.intercept_ * sides if apart else own.intercept_
        model.classes_, model.coef_ = self.classes, coef
        model.intercept_ = intercept[1:] - intercept[:1] if width == 1 else intercept

    def _in_one_column(self, model: LogisticRegression) -> bool:
        return len(self.there) == 2 and model.weights != "observed"


def _prior_of_difference(model: LogisticRegression) -> tuple[float, float, str | None]:
    """C, l1_ratio and penalty that say of w = θ₁ − θ₀ what a model's say of two columns."""
    if model.penalty == "group":  # ‖(−w/2, w/2)‖ = |w|/√2
        return float(model.C) * np.sqrt(2), 1.0, "l1"
    l1, l2 = model._strengths()
    strength = l1 + l2 / 2
    return (1 / strength, l1 / strength, "elasticnet") if strength > 0 else (np.inf, 0.0, model.penalty)
