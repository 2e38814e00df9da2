"""Folds of a search: rows to learn from and rows to score on, and scores that weigh the rows."""

import inspect
import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, make_scorer
from sklearn.model_selection import check_cv

from fastlin.core.dataset import DatasetView

Members = NDArray[np.int64]
Weights = NDArray[np.float64] | None  # None: ones
Split = tuple[Any, NDArray[Any], Weights]  # rows, labels and weights to score on
Score = Callable[..., float]  # of a model on rows with labels and weights, and a scorer's own parameters


def make_folds(
    cv: Any, codes: NDArray[np.int32], members: Members, **parameters: Any
) -> Iterator[tuple[Members, Members]]:
    """The numbers of the rows to learn from and to score on, of each fold.

    A number as `cv` asks for stratified folds of the rows that are `members`. The indices of a splitter, and of folds
    that are given, count all rows. `parameters` are the splitter's own: groups.
    """
    if cv is None or (isinstance(cv, numbers.Integral) and not isinstance(cv, bool)):
        own = codes[members]
        for train, test in check_cv(cv, own, classifier=True).split(own, own):
            yield members[train], members[test]
        return
    folds = (
        cv if isinstance(cv, list | tuple) else check_cv(cv, codes, classifier=True).split(codes, codes, **parameters)
    )
    for train, test in folds:
        yield _numbers(train, len(codes)), _numbers(test, len(codes))


def _numbers(indices: Any, n_rows: int) -> Members:
    """Indices or a mask of rows, proved."""
    array = np.asarray(indices)
    if array.dtype == bool and array.shape == (n_rows,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(f"cv must give the rows of a fold as numbers or a mask of {n_rows}, got {indices!r:.60}")
    wrong = (array < -n_rows) | (array >= n_rows)
    if wrong.any():
        raise ValueError(f"cv gives the row {array[wrong][0]}, but X has {n_rows} rows")
    return array.astype(np.int64) % n_rows


def as_split(held: DatasetView, labels: NDArray[Any]) -> Split:
    """What is scored on: rows, their labels and weights."""
    data = held.dataset
    weights = data.weights() if data.weighted else None
    if weights is not None and not weights.any():
        raise ValueError(f"{data.name} is a Corpus in which the weight of every row is zero: no score weighs anything")
    return data.as_input(), labels[held.codes()], weights


def mean_accuracy(model: Any, X: Any, y: NDArray[Any], weights: Weights) -> float:
    """The share of right predictions, weighted."""
    return float(np.average(model.predict(X) == y, weights=weights))


def of_labels(scorer: Any, classes: NDArray[Any]) -> Any:
    """A scorer of scikit-learn's that knows all labels, where its score can: the rows that are scored may lack some."""
    function = getattr(scorer, "_score_func", None)
    if function is None or "labels" not in (known := inspect.signature(function).parameters):
        return scorer
    told = {"labels": classes} | ({"pos_label": classes[-1]} if len(classes) <= 2 and "pos_label" in known else {})
    return make_scorer(
        function,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        **told | scorer._kwargs,
    )


def as_score(model: Any, scoring: Any, classes: NDArray[Any] | None = None, weighs: bool | None = None) -> Score:
    """What `scoring` asks for, None the accuracy; the rows weigh where a scorer takes weights, or as `weighs` says.

    Where there are `classes`, rows to score may lack some of these labels.
    """
    if scoring is None:
        return mean_accuracy
    scorer = check_scoring(model, scoring=scoring)
    if weighs is None:
        weighs = "sample_weight" in inspect.signature(getattr(scorer, "_score_func", scorer)).parameters
    scorer = scorer if classes is None else of_labels(scorer, classes)

    def score(model: Any, X: Any, y: Any, weights: Weights, **parameters: Any) -> float:
        weighted = {} if weights is None or not weighs else {"sample_weight": weights}
        found = scorer(model, X, y, **weighted, **parameters)
        if np.isnan(found):
            raise ValueError(f"scoring={scoring!r} gave {found} for a fold: what cannot be compared chooses nothing")
        return float(found)

    return score


def best_setting(scores: NDArray[np.float64]) -> tuple[int, ...]:
    """Where the mean over the folds is best, the first among equals; of what was measured before a search ended."""
    measured = (~np.isnan(scores)).sum(axis=0)
    means = np.where(measured > 0, np.nansum(scores, axis=0) / np.maximum(measured, 1), -np.inf)
    return tuple(int(place) for place in np.unravel_index(int(np.argmax(means)), means.shape))
