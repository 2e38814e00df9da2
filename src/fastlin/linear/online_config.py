"""The parameters of an online learner, checked, in the form the engine takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.dataset import Dataset, TargetedRows
from fastlin.linear.online_parameters import online_rule
from fastlin.optim.corpus_stream import CorpusStream
from fastlin.optim.epochs import LabelTable, RowSource, Stopping, TrainingRows
from fastlin.optim.online_state import OnlineState
from fastlin.optim.training_state import TrainingState
from fastlin.validation import MAX_ABS_VALUE


@dataclass(frozen=True)
class OnlineOptions:
    """What is settled before a run: how to step, when to stop, in which order."""

    rule: NDArray[Any]
    stopping: Stopping
    sampling: str
    dtype: np.dtype[Any]

    def source(
        self,
        data: Dataset,
        weights: NDArray[np.float64],
        members: NDArray[np.int64] | None,
        places: NDArray[np.int32],
        generator: np.random.Generator,
        training: TrainingState,
        factors: NDArray[np.float64] | None = None,
    ) -> RowSource:
        """The data of epochs: `places` are the labels' in the model, `weights` one a row, or of a corpus one a label.

        Without `members`, all rows are learnt from. `factors` are those of rows without a label and with it, where a
        row may have several.
        """
        if data.rows is None:
            size = int(self.rule["batch_size"][0])
            return CorpusStream(data, places, weights, members, self.sampling, generator, self.dtype, size, training)
        members = np.arange(len(data)) if members is None else members
        if data.label_sets is None:
            return TrainingRows(data.rows, places[data.codes()], weights, members, self.sampling, generator)
        table = LabelTable(data.label_sets.members(), *(() if factors is None else (factors,)))
        return TrainingRows(data.rows, data.codes(), weights, members, self.sampling, generator, table=table)

    def targeted_source(
        self, data: TargetedRows, members: NDArray[np.int64] | None, generator: np.random.Generator
    ) -> RowSource:
        """The data of epochs, each row with its target; without `members`, all rows are learnt from."""
        rows = data.rows.astype(self.dtype)
        members = np.arange(len(rows)) if members is None else members
        unlabelled = np.zeros(len(rows), np.int32)
        return TrainingRows(rows, unlabelled, data.weights, members, self.sampling, generator, targets=data.targets)


def online_options(
    model: Any, fields: dict[str, Any], sampling: str, dtype: np.dtype[Any], dense: bool
) -> OnlineOptions:
    """Check every parameter of an online learner; `fields` are those of the Rule that its kind of step decides.

    `dense` says whether the rows came as a dense matrix.
    """
    rule = online_rule(model, fields, dtype, dense)
    tol = None if model.tol is None else float(model.tol)
    adaptive = getattr(model, "learning_rate", None) == "adaptive"
    stopping = Stopping(tol, int(model.n_iter_no_change), adaptive, penalised=True)
    return OnlineOptions(rule, stopping, sampling, dtype)


def initial_coef(coef: Any, state: OnlineState) -> NDArray[np.float64]:
    """Weights that a user gives, in the shape of `coef_`, for a state."""
    shape = len(state.order), len(state.weights)
    coef = validation.as_finite(coef, "coef_init", ndim=np.ndim(coef))
    if coef.shape != shape and not (shape[0] == 1 and coef.shape == shape[1:]):
        raise ValueError(f"Provided coef_init does not match dataset: it must have shape {shape}, got {coef.shape}")
    return _in_range(coef.reshape(shape), state, "coef_init")


def initial_intercept(intercept: Any, state: OnlineState) -> NDArray[np.float64]:
    """Intercepts that a user gives, in the shape of `intercept_`."""
    shape = (len(state.order),)
    intercept = validation.as_vector(np.atleast_1d(intercept), "intercept_init")
    if intercept.shape != shape:
        raise ValueError(
            f"Provided intercept_init does not match dataset: it must have shape {shape}, got {intercept.shape}"
        )
    return _in_range(intercept, state, "intercept_init")


def _in_range(values: NDArray[np.float64], state: OnlineState, name: str) -> NDArray[np.float64]:
    dtype = state.weights.dtype
    largest, limit = np.abs(values).max(initial=0), MAX_ABS_VALUE[dtype]
    if largest > limit:
        raise ValueError(f"{name} holds ±{largest:g}, larger than {limit:g}, the limit of {dtype} weights")
    return values
