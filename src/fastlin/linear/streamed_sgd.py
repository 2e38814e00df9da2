"""SGD's classifier of blocks of rows that come one after the other: what `fit` makes of all of them in their order.

It needs neither scikit-learn nor the rows that it has learnt from: it is the state of an epoch in which the orders are
those of the rows, and at its end what a model file holds of a fitted `SGDClassifier`.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.linear.online_parameters import check_rate, online_rule
from fastlin.linear.sgd_parameters import SGDParameters
from fastlin.optim.epochs import TrainingRows, advance_piece
from fastlin.optim.online_state import OnlineState
from fastlin.storage.weight_packing import Packing
from fastlin.validation import CSRRows
from fastlin.validation.parameter_kinds import check_parameters

NEEDED = {"max_iter": 1, "tol": None, "shuffle": False, "sampling": (None, "order"), "early_stopping": False}
NOT_STREAMED = {"average": (False, 0), "batch_size": 1, "class_weight": None, "warm_start": False, "callback": None}


class StreamedSGD:
    """An epoch of `SGDClassifier`.

    Parameters
    ----------
    parameters : SGDParameters
        Those of the classifier, with a dtype: one epoch in the rows' order, without an average of the weights, which
        needs all rows at its end, and without mini-batches.
    n_features : int
        The columns of the rows.
    classes : array of str
        All labels, sorted.
    """

    def __init__(self, parameters: SGDParameters, n_features: int, classes: NDArray[Any]) -> None:
        check_parameters(parameters)
        for name, wanted in (NEEDED | NOT_STREAMED).items():
            value, allowed = getattr(parameters, name), wanted if isinstance(wanted, tuple) else (wanted,)
            if value not in allowed:
                what = "is not learnt in a stream" if name in NOT_STREAMED else f"must be {allowed[0]!r} in a stream"
                raise ValueError(f"{name}={value!r} {what}: an epoch of single rows in their order")
        dtype = validation.as_dtype(parameters.dtype) or np.dtype(np.float64)
        rule = online_rule(parameters, parameters._rule(), dtype, dense=False)
        check_rate(rule, 0, 1)
        self.classes = classes
        self.state = OnlineState(rule, n_features, 1 if len(classes) == 2 else len(classes), dtype)
        self._generator = validation.as_generator(parameters.random_state)
        self._n_rows, self._started = 0, time.perf_counter()

    def learn(self, rows: CSRRows, codes: NDArray[np.int32], weights: NDArray[np.float64]) -> None:
        """Learn from proved rows, in their order; no `weights` are all ones.

        Parameters
        ----------
        rows : CSRRows
            With as many columns as there are features.
        codes : array of int32
            The place of each row's label among the classes.
        weights : array of shape (n_rows,) or (0,)
            Of the rows; those of weight 0 are skipped.
        """
        order = np.arange(len(rows))
        part = TrainingRows(rows, codes, weights, order, "order", self._generator, start=self._n_rows)
        position, advance = 0, part.kernel(self.state, order, np.empty((0, 0)))
        while position < len(order):
            position, _ = advance_piece(self.state, part, order, advance, position)
        self._n_rows += len(rows)

    def finish(self) -> None:
        """Settle what lazy updates owe: the epoch is over."""
        if not self.state.clock["t"][0]:
            raise ValueError("the weight of every row is zero: nothing to learn from")
        self.state.settle()

    def learnt(self, packing: Packing) -> dict[str, Any]:
        """What the codec of `SGDClassifier` keeps of one that was fitted.

        Parameters
        ----------
        packing : Packing
            How weights go into the file.

        Returns
        -------
        dict
            By the names of its state.
        """
        clock = self.state.clock[0]
        record = {
            "epoch": 1,
            "loss": float(clock["loss"]) / self._n_rows,
            "objective": float(clock["loss"]),
            "updates": int(clock["updates"]),
            "progressive_accuracy": 1 - int(clock["mistakes"]) / int(clock["t"]),
            "seconds": time.perf_counter() - self._started,
        }
        learnt: dict[str, Any] = {} if packing.serving else {"history_": [record]}
        learnt |= {"objective_": record["objective"], "converged_": True, "n_iter_": 1}
        learnt |= {"coef": packing.pack(self.state.label_weights()), "intercept": self.state.intercept()}
        learnt |= {"classes": self.classes, "rule": self.state.rule.copy(), "clock": self.state.clock.copy()}
        if not packing.serving:
            learnt |= {"random": self._generator, "learning": self.state.export(copy=False)}
        return learnt | {"n_features_in_": len(self.state.weights)}
