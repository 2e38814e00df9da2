"""How far the predictions of a regressor are from the targets."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fastlin.inspection import html


@dataclass(frozen=True)
class RegressionReport:
    """The figures of a regressor on documents with targets.

    Attributes
    ----------
    documents : int
        Documents looked at.
    r2 : float
        The share of the targets' variance that is explained; of targets that are all the same 1 if every prediction is
        right, else 0.
    mae : float
        The mean of \\|y − ŷ\\|.
    rmse : float
        The root of the mean of (y − ŷ)².
    """

    documents: int
    r2: float
    mae: float
    rmse: float

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            A key for each field.
        """
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"R² {self.r2:.4f}, mean absolute error {self.mae:.6g}, RMSE {self.rmse:.6g} ({self.documents:,} documents)"
        )

    def _repr_html_(self) -> str:
        return html.block(html.paragraph(str(self)))


class RegressionAccumulator:
    """The sums behind a `RegressionReport`, added up block by block, about the mean of the targets so far."""

    def __init__(self) -> None:
        self._n, self._mean, self._scatter, self._absolute, self._squared = 0, 0.0, 0.0, 0.0, 0.0

    def add(self, y: Any, predicted: Any) -> None:
        """Count some documents.

        Parameters
        ----------
        y : array of shape (n,)
            Targets.
        predicted : array of shape (n,)
            Predictions.

        Raises
        ------
        ValueError
            If there are not as many predictions as targets.
        """
        y, predicted = np.asarray(y, np.float64), np.asarray(predicted, np.float64)
        if y.ndim != 1 or y.shape != predicted.shape:
            raise ValueError(f"y has shape {y.shape}, predicted {predicted.shape}; as many numbers of both are wanted")
        if not len(y):
            return
        mean, total = float(y.mean()), self._n + len(y)
        shift = mean - self._mean
        self._scatter += float(((y - mean) ** 2).sum()) + shift**2 * self._n * len(y) / total  # Chan et al. 1979
        self._mean += shift * len(y) / total
        self._n = total
        self._absolute += float(np.abs(y - predicted).sum())
        self._squared += float(((y - predicted) ** 2).sum())

    def report(self) -> RegressionReport:
        """The figures of all that was added.

        Returns
        -------
        RegressionReport
            Figures of all documents since the accumulator was made.

        Raises
        ------
        ValueError
            If none was added.
        """
        if not self._n:
            raise ValueError("there is nothing to report on: there are no documents")
        r2 = 1 - self._squared / self._scatter if self._scatter > 0 else float(self._squared == 0)
        return RegressionReport(self._n, r2, self._absolute / self._n, math.sqrt(self._squared / self._n))


def regression_report(y: Any, predicted: Any) -> RegressionReport:
    """Compare targets with predictions.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predicted : array of shape (n,)
        Predictions.

    Returns
    -------
    RegressionReport

    Examples
    --------
    >>> from fastlin.inspection import regression_report
    >>> print(regression_report([1.0, 2.0, 4.0], [1.0, 2.5, 3.5]))
    R² 0.8929, mean absolute error 0.333333, RMSE 0.408248 (3 documents)
    """
    tally = RegressionAccumulator()
    tally.add(y, predicted)
    return tally.report()
