"""Logistic regression on a cluster: every evaluation of the objective is a round."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.dataset import DatasetView
from fastlin.dask.datasets import ClusterView
from fastlin.dask.estimators import ClusterClassifier
from fastlin.linear import logistic
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.solvers.dispatch import SOLVERS, Solver

STATELESS = "auto", "lbfgs"  # that keep nothing with the rows between two rounds


class LogisticRegression(ClusterClassifier, logistic.LogisticRegression):
    """`fastlin.LogisticRegression` of a stored corpus, whose objective the workers of a Dask cluster evaluate.

    solver="lbfgs" gives the model of the local one in every bit; "auto" is the same here.
    """

    def _parts_of(self, sample: DatasetView, of_one_fit: bool = False) -> Any:
        if not isinstance(sample, ClusterView):
            return super()._parts_of(sample, of_one_fit)
        if self._check_parameters() not in STATELESS:
            raise ValueError(f"solver={self.solver!r} is not one of a cluster: use 'lbfgs' or 'auto'")
        n_labels = len(sample.classes)
        width = n_labels if self.weights == "observed" else self._n_columns(n_labels)
        return sample.designs(width, self._label_tables(sample))

    def _optimise(
        self,
        problem: LogLinearProblem,
        theta: NDArray[np.float64],
        solver: Solver,
        report: Any,
        checkpoint: CheckpointTarget | None,
    ) -> None:
        on_workers = not problem.data.keeps_rows
        super()._optimise(problem, theta, SOLVERS["lbfgs"] if on_workers else solver, report, checkpoint)
