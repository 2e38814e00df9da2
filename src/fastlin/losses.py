"""Every loss as a plain function: `value, gradient = loss(scores, y)`.

Scores of shape `y.shape + (K,)` belong to K labels, and y holds label indices. Scores of y's own shape are one column,
a binary problem: y is 1 (the positive label) or 0 (or −1). The gradient has the shape of the scores.
The formulas are the engine's own, the ones every learner runs. The losses of regression take a target for each score.

>>> value, gradient = hinge([2.0, 1.5, 0.0], 0)
>>> float(value), gradient.tolist()
(0.5, [-1.0, 1.0, 0.0])
>>> value, gradient = log_loss(0.0, 1)
>>> round(float(value), 6), gradient.tolist()
(0.693147, -0.5)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import row_scores as _rows

__all__ = [
    "epsilon_insensitive", "hinge", "huber", "log_loss", "modified_huber", "perceptron", "squared_epsilon_insensitive",
    "squared_error", "squared_hinge", "zero_one",
]  # fmt: skip

OF_RESIDUALS = {"squared_error": 6, "huber": 7, "epsilon_insensitive": 8, "squared_epsilon_insensitive": 9}
CODES = {"zero_one": 0, "perceptron": 1, "hinge": 2, "squared_hinge": 3, "log_loss": 4, "modified_huber": 5}
CODES |= OF_RESIDUALS

Result = tuple[NDArray[np.float64], NDArray[np.float64]]


def _evaluate(loss: str, scores: Any, y: Any) -> Result:
    scores, y = np.asarray(scores), np.asarray(y)
    if scores.dtype.kind not in "fiub":
        raise TypeError(f"scores must be real numbers, got dtype {scores.dtype}")
    scores = scores.astype(np.float64)
    if y.dtype.kind not in "iub":
        raise TypeError(f"y must hold label indices (integers), got dtype {y.dtype}")
    labels = y.astype(np.int64)
    if scores.shape == y.shape:
        table = scores.reshape(-1, 1)
        labels = np.where(labels == -1, 0, labels)
        n_labels = 2
    elif scores.ndim == y.ndim + 1 and scores.shape[:-1] == y.shape and scores.shape[-1] > 0:
        table = scores.reshape(-1, scores.shape[-1])
        n_labels = max(2, scores.shape[-1])
    else:
        raise ValueError(f"scores must have y's shape {y.shape}, or one axis more for the labels; got {scores.shape}")
    if not np.isfinite(table).all():
        raise ValueError("scores must be finite")
    if ((labels < 0) | (labels >= n_labels)).any():
        raise ValueError(f"y must hold label indices below {n_labels}, got {y.min()} to {y.max()}")
    values, gradient = np.empty(len(table)), np.empty(table.shape)
    _rows.losses(CODES[loss], np.ascontiguousarray(table), labels.reshape(-1), 0.0, values, gradient)
    return values.reshape(y.shape)[()], gradient.reshape(scores.shape)


def zero_one(scores: Any, y: Any) -> Result:
    """1 where the predicted label, the lowest argmax, is wrong. Its gradient is 0 wherever it has one.

    Parameters
    ----------
    scores : array of the shape of y, or with one axis more
        One score for two labels, or on the last axis one for each label.
    y : array of int
        Labels from 0 on; of two, −1 stands for 0, too.

    Returns
    -------
    (array of the shape of y, array of the shape of scores)
        Losses, and their gradients by the scores, which are 0.
    """
    return _evaluate("zero_one", scores, y)


def perceptron(scores: Any, y: Any) -> Result:
    """max(0, max_{k≠y} s_k − s_y); a tie is an error and has a gradient.

    Parameters
    ----------
    scores : array of the shape of y, or with one axis more
        One score for two labels, or on the last axis one for each label.
    y : array of int
        Labels from 0 on; of two, −1 stands for 0, too.

    Returns
    -------
    (array of the shape of y, array of the shape of scores)
        Losses, and their gradients by the scores.
    """
    return _evaluate("perceptron", scores, y)


def hinge(scores: Any, y: Any) -> Result:
    """ℓ = max(0, 1 − s_y + max_{k≠y} s_k), Crammer and Singer's; one column: max(0, 1 − ys).

    Parameters
    ----------
    scores : array of the shape of y, or with one axis more
        One score for two labels, or on the last axis one for each label.
    y : array of int
        Labels from 0 on; of two, −1 stands for 0, too.

    Returns
    -------
    (array of the shape of y, array of the shape of scores)
        Losses, and their gradients by the scores.
    """
    return _evaluate("hinge", scores, y)


def squared_hinge(scores: Any, y: Any) -> Result:
    """The square of `hinge`.

    Parameters
    ----------
    scores : array of the shape of y, or with one axis more
        One score for two labels, or on the last axis one for each label.
    y : array of int
        Labels from 0 on; of two, −1 stands for 0, too.

    Returns
    -------
    (array of the shape of y, array of the shape of scores)
        Losses, and their gradients by the scores.
    """
    return _evaluate("squared_hinge", scores, y)


def modified_huber(scores: Any, y: Any) -> Result:
    """The square of `hinge`, but where that is beyond 2 a straight line: ℓ² up to ℓ = 2, then 4(ℓ − 1).

    Parameters
    ----------
    scores : array of the shape of y, or with one axis more
        One score for two labels, or on the last axis one for each label.
    y : array of int
        Labels from 0 on; of two, −1 stands for 0, too.

    Returns
    -------
    (array of the shape of y, array of the shape of scores)
        Losses, and their gradients by the scores.
    """
    return _evaluate("modified_huber", scores, y)


def log_loss(scores: Any, y: Any) -> Result:
    """log Σ_k e^{s_k} − s_y; one column: log(1 + e^{−ys}).

    Parameters
    ----------
    scores : array of the shape of y, or with one axis more
        One score for two labels, or on the last axis one for each label.
    y : array of int
        Labels from 0 on; of two, −1 stands for 0, too.

    Returns
    -------
    (array of the shape of y, array of the shape of scores)
        Losses in nats, and their gradients by the scores: p − [k = y].
    """
    return _evaluate("log_loss", scores, y)


def squared_error(scores: Any, y: Any) -> Result:
    """½r², with the residual r = y − s.

    Parameters
    ----------
    scores : array
        Predicted targets.
    y : array
        Right targets.

    Returns
    -------
    (array, array)
        Losses, and their derivatives by the scores.
    """
    return _evaluate_residuals("squared_error", scores, y, 0.0)


def huber(scores: Any, y: Any, epsilon: float = 0.1) -> Result:
    """½r², but where |r| is beyond ε a straight line: ε(|r| − ½ε).

    Parameters
    ----------
    scores : array
        Predicted targets.
    y : array
        Right targets.
    epsilon : float
        ε, where the parabola becomes a line.

    Returns
    -------
    (array, array)
        Losses, and their derivatives by the scores.
    """
    return _evaluate_residuals("huber", scores, y, epsilon)


def epsilon_insensitive(scores: Any, y: Any, epsilon: float = 0.1) -> Result:
    """ℓ = max(0, |r| − ε).

    Parameters
    ----------
    scores : array
        Predicted targets.
    y : array
        Right targets.
    epsilon : float
        ε, the residual that costs nothing.

    Returns
    -------
    (array, array)
        Losses, and their derivatives by the scores.
    """
    return _evaluate_residuals("epsilon_insensitive", scores, y, epsilon)


def squared_epsilon_insensitive(scores: Any, y: Any, epsilon: float = 0.1) -> Result:
    """The square of `epsilon_insensitive`.

    Parameters
    ----------
    scores : array
        Predicted targets.
    y : array
        Right targets.
    epsilon : float
        ε, the residual that costs nothing.

    Returns
    -------
    (array, array)
        Losses, and their derivatives by the scores.
    """
    return _evaluate_residuals("squared_epsilon_insensitive", scores, y, epsilon)


def _evaluate_residuals(loss: str, scores: Any, y: Any, epsilon: float) -> Result:
    residuals = np.subtract(y, scores, dtype=np.float64)
    if not np.isfinite(residuals).all():
        raise ValueError("scores and y must be finite")
    if not 0 <= epsilon < np.inf:
        raise ValueError(f"epsilon must be a finite number of at least 0, got {epsilon!r}")
    values, slopes = np.empty(residuals.size), np.empty(residuals.size)
    _rows.residual_losses(CODES[loss], np.ascontiguousarray(residuals).reshape(-1), float(epsilon), values, slopes)
    return values.reshape(residuals.shape)[()], -slopes.reshape(residuals.shape)


EPSILON = 0.1  # of the losses that have a width
LOSS_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # by scikit-learn's names: the function, and its width
    "hinge": (hinge,), "log_loss": (log_loss,), "modified_huber": (modified_huber,),
    "squared_hinge": (squared_hinge,), "perceptron": (perceptron,), "squared_error": (squared_error,),
    "huber": (huber, EPSILON), "epsilon_insensitive": (epsilon_insensitive, EPSILON),
    "squared_epsilon_insensitive": (squared_epsilon_insensitive, EPSILON),
}  # fmt: skip
