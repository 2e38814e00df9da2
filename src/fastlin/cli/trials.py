"""Trials of values of a parameter: on documents held out, or on folds by learners of the others."""

import argparse
import copy
import functools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.cli.labels import all_shown
from fastlin.cli.learners import REGRESSORS
from fastlin.cli.progress import Progress
from fastlin.cli.train import fit
from fastlin.cli.training_data import TrainingData
from fastlin.inspection import RegressionAccumulator, RegressionReport, Report, ReportAccumulator
from fastlin.validation.partial_labels import is_missing

Row = dict[str, float]


class HeldOut:
    """Trials on the documents of `--dev`."""

    def __init__(self, data: TrainingData, learner: Any, options: argparse.Namespace, progress: Progress) -> None:
        self.data, self.learner, self.options, self.progress = data, learner, options, progress
        self._best: Any = None

    def row(self, name: str, value: float) -> Row:
        """Fit with a value, and judge."""
        started = time.perf_counter()
        self.learner.set_params(**{name: value})
        fit(self.learner, lambda: self.data.fit(self.learner), self.progress)
        seconds = time.perf_counter() - started
        model_io.set_first_index(self.learner, self.data.first_index)
        model = model_io.pipeline([*self.data.steps, ("learner", self.learner)])
        found = figures(model_io.on_dev(model, self.options, self.progress))
        return {name: value, "seconds": seconds, **sizes([self.learner]), **found}

    def keep(self) -> None:
        """The last value was the best so far."""
        self._best = copy.copy(self.learner)  # the next fit replaces what was learnt, and changes none of it

    def learnt(self, name: str, value: float) -> Any:  # noqa: ARG002
        """The learner of the best value."""
        return self._best


class Folds:
    """Trials on the parts of the documents, with as many of each label in every part as can be.

    Features are learnt once, from all documents and without their labels. Documents that have no label are in no part,
    and are learnt from each time.
    """

    def __init__(self, data: TrainingData, learner: Any, options: argparse.Namespace, progress: Progress) -> None:
        self.data, self.learner, self.options, self.progress = data, learner, options, progress
        self.numbers = options.learner in REGRESSORS
        labels = data.all_labels()
        if self.numbers:
            labels = np.zeros(len(labels))  # of which each part has as many as any other
        there = np.ones(len(labels), bool)
        if options.learner == "semi-nb":
            there = np.array([not is_missing(label) for label in labels.tolist()])
        self.names = all_shown(np.unique(labels[there]))
        self.learners = [clone(learner) for _ in range(options.folds)]  # a path goes on where its last fit ended
        parts = split(labels, there, options.folds, options.seed)
        self.rows = [(data.take(np.setdiff1d(np.arange(len(labels)), part)), data.take(part)) for part in parts]

    def row(self, name: str, value: float) -> Row:
        """Fit with a value as often as there are parts; the figures are of all documents."""
        everything, each, seconds = self._accumulator(), [], 0.0
        for learner, (others, held) in zip(self.learners, self.rows, strict=True):
            started = time.perf_counter()
            learner.set_params(**{name: value})
            fit(learner, functools.partial(others.fit, learner), self.progress)
            seconds += time.perf_counter() - started
            part = self._accumulator()
            for found in self._predicted(learner, held):
                part.add(*found)
                everything.add(*found)
            each.append(figures(part.report()))
        row = {name: value, "seconds": seconds, **sizes(self.learners), **figures(everything.report())}
        return {**row, "deviation": float(np.std([one[self.options.metric] for one in each], ddof=1))}

    def _accumulator(self) -> Any:
        """The sums of figures of labels, or of numbers."""
        return RegressionAccumulator() if self.numbers else ReportAccumulator(self.names)

    def _predicted(self, learner: Any, held: TrainingData) -> Iterator[tuple[Any, ...]]:
        """Labels, what was predicted, and the probabilities of all labels there are; of numbers the first two."""
        if self.numbers:
            yield held.labels, learner.predict(held.X)
            return
        columns = [self.names.index(label) for label in all_shown(learner.classes_)]
        for X, labels in held.blocks():
            probabilities = None
            if hasattr(learner, "predict_proba"):
                probabilities = np.zeros((X.shape[0], len(self.names)))
                probabilities[:, columns] = learner.predict_proba(X)
            yield all_shown(labels), all_shown(learner.predict(X)), probabilities

    def keep(self) -> None:
        """The last value was the best so far: its number is all that has to be known."""

    def learnt(self, name: str, value: float) -> Any:
        """A learner of all documents with the best value; not fitted if nobody wants to save it."""
        self.learner.set_params(**{name: value})
        if self.options.model is not None:
            fit(self.learner, lambda: self.data.fit(self.learner), self.progress)
            model_io.set_first_index(self.learner, self.data.first_index)
        return self.learner


def split(labels: NDArray[Any], there: NDArray[np.bool_], n: int, seed: int) -> list[NDArray[np.int64]]:
    """The rows of n parts, dealt out label by label in random order: no two parts differ by more than a row of one."""
    rows = np.flatnonzero(there)
    if len(rows) < n:
        raise UserError(f"--folds {n}: there are only {len(rows):,} documents with labels")
    rows = np.random.default_rng(seed).permutation(rows)
    rows = rows[np.argsort(np.unique(labels[rows], return_inverse=True)[1], kind="stable")]
    return [np.sort(rows[start::n]) for start in range(n)]


def sizes(fitted: list[Any]) -> Row:
    """How many weights that are not zero linear models have, on average; nothing of other learners."""
    if not all(hasattr(learner, "coef_") for learner in fitted):
        return {}
    counts = [
        learner.coef_.count_nonzero() if issparse(learner.coef_) else np.count_nonzero(learner.coef_)
        for learner in fitted
    ]
    return {"weights": float(np.mean(counts))}


def figures(found: Report | RegressionReport) -> Row:
    """A row of the table, from a report."""
    if isinstance(found, RegressionReport):
        return {"r2": found.r2, "mae": found.mae, "rmse": found.rmse}
    row = {"accuracy": found.accuracy, "macro_f1": found.macro_f1}
    return row if found.log_loss is None else {**row, "log_loss": found.log_loss}
