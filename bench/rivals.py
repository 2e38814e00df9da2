"""How do Vowpal Wabbit and LIBLINEAR run at their best from Python?

Vowpal Wabbit is timed in two ways. ``epoch`` learns from examples that were parsed before the clock
starts and are kept in memory: its learning alone, and its fastest. What the Python binding takes for
as many calls of a method that does nothing is measured beside it, to be taken off. ``passes`` is how
its users run it, over a binary cache; reading that back is what bounds it. Settings: logistic loss,
plain SGD (``--sgd``: one float a weight; its default keeps four), no penalty, no constant, and bits
enough that every column has its own weight, as the columns' numbers are used as hashes; examples go
by in the order given.

LIBLINEAR trains on a problem that was converted before the clock starts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

HINGE_DUAL, CRAMMER_SINGER, LOGISTIC_PRIMAL, LOGISTIC_L1, LOGISTIC_DUAL = (
    3,
    4,
    0,
    6,
    7,
)  # LIBLINEAR's numbers for its solvers


def vw_options(columns: int, learning_rate: float) -> str:
    bits = max(18, (columns - 1).bit_length())
    return f"--loss_function logistic --sgd --noconstant --quiet -b {bits} -l {learning_rate}"


class VowpalWabbit:
    """A binary logistic learner over rows that it holds in memory."""

    def __init__(self, X: sparse.csr_matrix, y: np.ndarray, learning_rate: float) -> None:
        import pylibvw
        from vowpalwabbit import Example, Workspace

        self._learn, self._nothing = pylibvw.vw.learn, pylibvw.vw.get_stride
        self._workspace = Workspace(vw_options(X.shape[1], learning_rate))
        self._examples = []
        for row, label in zip(range(X.shape[0]), y, strict=True):
            part = slice(X.indptr[row], X.indptr[row + 1])
            example = Example(self._workspace)
            example.push_features("f", list(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)))
            example.set_label_string("1" if label else "-1")
            example.setup_example()
            self._examples.append(example)

    def epoch(self) -> None:
        deque(map(self._learn, repeat(self._workspace), self._examples), maxlen=0)

    def binding(self) -> None:
        """As many calls into the library as an epoch makes, of a method that does nothing."""
        deque(map(self._nothing, repeat(self._workspace, len(self._examples))), maxlen=0)

    def score(self, y: np.ndarray) -> float:
        scores = np.array([self._workspace.predict(example) for example in self._examples])
        return float(np.mean((scores > 0) == (y > 0)))

    def close(self) -> None:
        for example in self._examples:
            self._workspace.finish_example(example)
        self._examples = []
        self._workspace.finish()


class VowpalWabbitPasses:
    """The same learner as its command line runs it: passes over a binary cache of the rows."""

    def __init__(self, X: sparse.csr_matrix, y: np.ndarray, learning_rate: float, folder: Path) -> None:
        from vowpalwabbit import Workspace

        text = folder / "rows.vw"
        with text.open("w", encoding="ascii") as lines:
            for row, label in zip(range(X.shape[0]), y, strict=True):
                part = slice(X.indptr[row], X.indptr[row + 1])
                pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
                features = " ".join(f"{j}:{x:g}" if x != 1.0 else str(j) for j, x in pairs)
                lines.write(f"{1 if label else -1} |f {features}\n")
        self._workspace = Workspace
        self._options = f"{vw_options(X.shape[1], learning_rate)} --holdout_off -d {text} --cache_file {text}.cache"
        self.passes(1)  # makes the cache

    def passes(self, count: int) -> None:
        self._workspace(f"{self._options} --passes {count}").finish()


@dataclass
class Liblinear:
    """½‖θ‖² + C Σ loss by one of LIBLINEAR's solvers; a positive bias is the value of a last feature of every row."""

    X: sparse.csr_matrix
    y: np.ndarray
    solver: int
    C: float
    bias: float = -1.0
    problem: object = field(init=False)

    def __post_init__(self) -> None:
        from liblinear.liblinear import problem

        self.problem = problem(self.y.astype(float), self.X, self.bias)

    def train(self, tolerance: float | None) -> Any:
        """A model; None is LIBLINEAR's own tolerance."""
        from liblinear.liblinearutil import parameter, train

        stop = "" if tolerance is None else f"-e {tolerance} "
        options = f"-s {self.solver} -c {self.C} -B {self.bias} {stop}-q"  # a parameter's -B overrules the problem's
        return train(self.problem, parameter(options))

    def weights(self, model: Any) -> np.ndarray:
        """A vector for label 1 against label 0, or a row for every label; the bias last, where there is one."""
        labels = np.array(model.get_labels())
        columns = 1 if len(labels) == 2 and self.solver != CRAMMER_SINGER else len(labels)
        features = model.nr_feature + (self.bias >= 0)
        flat = np.ctypeslib.as_array(model.w, (features * columns,)).copy()
        if columns == 1:
            return flat if labels[0] == 1 else -flat
        return flat.reshape(features, columns).T[np.argsort(labels)]
