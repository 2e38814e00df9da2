"""The weights of online learners, dense or sparse: asked for, set by hand, pruned, and the whole state as arrays."""

import contextlib
import copy
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import storage, validation
from fastlin.core.dataset import Dataset
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_records import FitRecord
from fastlin.core.sparse_estimator import Infer, Scorer, dense_scorer, sparse_scorer
from fastlin.linear.growing_features import GrowingEstimator, drop_unknown_columns, grown_scorer, lasting_scorer
from fastlin.linear.online_config import initial_coef, initial_intercept
from fastlin.optim.online_state import OnlineState
from fastlin.validation import as_sparse


class SparseWeights(NamedTuple):
    """What `sparsify` leaves of a state, or what a model file holds of one: all that predictions need."""

    coef: Any  # a CSR or, from a file, maybe an array
    intercept: NDArray[np.float64]
    clock: NDArray[Any]
    rule: NDArray[Any]
    learning: dict[str, NDArray[Any]] | None = None  # the whole state, as it lies in the file


class OnlineWeights(GrowingEstimator, ABC):
    """A linear model whose weights are a state that is learnt in place, or sparse ones that only predict."""

    n_jobs: int | None

    n_features_in_: int
    _state: OnlineState
    _sparse: SparseWeights | None
    _generator: np.random.Generator

    # What was learnt

    @property
    @reads
    def coef_(self) -> Any:
        """Weights in scikit-learn's shape."""
        self._check_learnt()
        return self._shaped(self._state.coef().T if self._sparse is None else self._sparse.coef)

    @coef_.setter
    @learns
    def coef_(self, value: Any) -> None:
        self._check_learnt()
        state = self.densify()._state
        with state.lock.writing():
            state.restart(initial_coef(value, state), state.intercept())

    @property
    @reads
    def intercept_(self) -> NDArray[np.float64]:
        """One number a row of `coef_`."""
        self._check_learnt()
        return self._state.intercept() if self._sparse is None else self._sparse.intercept

    @intercept_.setter
    @learns
    def intercept_(self, value: Any) -> None:
        self._check_learnt()
        state = self.densify()._state
        with state.lock.writing():
            state.restart(state.label_weights().T, initial_intercept(value, state))

    @property
    @reads
    def t_(self) -> int:
        """Instances counted so far, and one."""
        self._check_fitted()
        if self._sparse is not None:
            return int(self._sparse.clock["t"][0]) + 1
        with self._state.lock.reading():
            return int(self._state.clock["t"][0]) + 1

    @learns
    def prune(self, threshold: float) -> int:
        """Set all weights of `coef_` that are smaller to 0, and forget what was summed up for them.

        Between the calls of `partial_fit`, or in a `callback`, it keeps the model of an endless stream small; the
        weights may grow again.

        Parameters
        ----------
        threshold : float

        Returns
        -------
        int
            How many weights there were.
        """
        self._check_learnt()
        if self._sparse is not None:
            raise ValueError("call densify() before prune: the weights are in sparse form")
        threshold = validation.real_number("threshold", threshold, at_least=0)
        with self._state.lock.writing():
            return self._state.prune(threshold)

    @learns
    def sparsify(self) -> Self:
        """Turn `coef_` into a CSR and give the dense weights up; `densify` before learning on.

        Returns
        -------
        self
            The model, whose predictions stay what they are.
        """
        self._check_learnt()
        self._load_state()
        if self._sparse is not None:
            return self
        model, state = self._working_copy(), self._state
        model._sparse = SparseWeights(
            sp.csr_array(state.label_weights().T), state.intercept(), state.clock.copy(), state.rule.copy()
        )
        del model._state
        return self._take_fitted(model)

    @learns
    def densify(self) -> Self:
        """Turn `coef_` back into an array. An average and Adagrad's sums start anew.

        Returns
        -------
        self
            The model, which can learn again.
        """
        self._check_learnt()
        if self._sparse is None:
            return self
        model, (coef, intercept, clock, rule, learning) = self._working_copy(), self._sparse
        if learning is not None:
            model._state = OnlineState.restore(learning)
            found = len(model._state.order), len(model._state.weights)
            if found != coef.shape:
                raise ValueError(f"the learning state has weights of the shape {found}, coef_ has {coef.shape}")
        else:
            model._state = OnlineState(rule, coef.shape[1], coef.shape[0], coef.dtype)
            model._state.clock["t"], model._state.clock["steps"] = clock["t"], clock["steps"]
            model._state.restart(as_sparse(coef, "coef_").toarray() if sp.issparse(coef) else coef, intercept)
        model._sparse = None
        return self._take_fitted(model)

    def _load_state(self) -> None:
        """Weights that lie in a file become weights that learn."""
        served = getattr(self, "_sparse", None)
        if served is not None and not sp.issparse(served.coef):
            self.densify()

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays: weights, averages, debts, clock, labels if there are any, generator.

        Returns
        -------
        dict of str to array
            Arrays of numbers and strings, which `numpy.savez` keeps without pickle.

        Raises
        ------
        ValueError
            If the weights are in sparse form.
        """
        self._check_fitted()
        model = self._lasting()
        model._load_state()
        if model._sparse is not None:
            raise ValueError("call densify() before get_state: the weights are in sparse form")
        return model._state.export() | model._export_labels() | storage.export_generator(model._generator)

    @learns
    def set_state(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Take over a state that `get_state` returned; learning goes on with the same bits.

        Parameters
        ----------
        arrays : dict of str to array
            What `get_state` of a model with the same parameters returned.

        Returns
        -------
        self
            The model, as the other one was.

        Raises
        ------
        ValueError
            If an array is missing, or does not fit the others.
        """
        model = self._working_copy()._install(OnlineState.restore(arrays), storage.restore_generator(arrays))
        model._restore_labels(arrays)
        return self._take_fitted(model._record([], converged=True))

    @abstractmethod
    def _export_labels(self) -> dict[str, NDArray[Any]]:
        """The labels as named arrays."""

    @abstractmethod
    def _restore_labels(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the labels over, once the weights are in place; refuse what does not fit them."""

    def _lasting(self) -> Self:
        while True:
            state = vars(self).get("_state")
            with contextlib.nullcontext() if state is None else state.lock.reading():
                model = self._snapshot()
                present = vars(model).get("_state")
                if present is not None and state is not None and present.lock is state.lock:
                    model._state, model._generator = present.reading_view(), copy.deepcopy(model._generator)
                elif present is not state:  # another was put in its place meanwhile
                    continue
                return model

    def __getstate__(self) -> dict[str, Any]:
        known: dict[str, Any] = super().__getstate__()
        if "_state" in known:
            known["_state"] = copy.copy(known["_state"])
        return known

    # Parts

    def _install(self, state: OnlineState, generator: np.random.Generator) -> Self:
        self._state, self._sparse, self._generator = state, None, generator
        self.n_features_in_ = len(state.weights)
        return self

    def _record(self, history: list[FitRecord], converged: bool) -> Self:
        self.history_, self.n_iter_, self.converged_ = history, len(history), converged
        self.objective_ = history[-1]["objective"] if history else np.nan
        return self

    def _shaped(self, coef: Any) -> Any:
        """Weights [columns, V] in the shape of `coef_`."""
        return coef

    def _weight_shape(self) -> tuple[int, int]:
        """Columns of weights, and features."""
        return (len(self._state.order), len(self._state.weights)) if self._sparse is None else self._sparse.coef.shape

    def _check_learnt(self) -> None:
        """Refuse labels, or a number of features, that do not fit the weights: users may set them."""
        self._check_fitted()
        _, n_features = self._weight_shape()
        if self.n_features_in_ != n_features:
            raise ValueError(
                f"n_features_in_ is {self.n_features_in_!r}, but there are weights of {n_features} features"
            )

    def _checked_rows(self, X: Any) -> Dataset:
        self._check_learnt()
        return super()._checked_rows(X)

    def _row_constraints(self) -> dict[str, Any]:
        return {"dtype": (self._state.weights if self._sparse is None else self._sparse.coef).dtype}

    def _forward(self, rows: Dataset, scorer: Scorer, infer: Infer) -> None:
        if self._sparse is None and rows.rows is None:  # all of its segments meet the same weights
            scorer = lasting_scorer(self._state, self.n_jobs)
        super()._forward(rows, scorer, infer)

    def _scorer(self) -> Scorer:
        if self._sparse is None:
            return grown_scorer(self._state, self.n_jobs)
        coef, intercept = self._sparse.coef, self._sparse.intercept
        scorer = sparse_scorer(coef, intercept) if sp.issparse(coef) else dense_scorer(coef.T, intercept, self.n_jobs)
        return drop_unknown_columns(scorer, coef.shape[1])
