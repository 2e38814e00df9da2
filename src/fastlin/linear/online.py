"""The body that every online learner shares: validate, encode labels, run epochs, set attributes."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import validate_data

from fastlin import run, validation
from fastlin.engine import online
from fastlin.engine import rows as row_kernels
from fastlin.linear.labels import columns, sources, union
from fastlin.optim.epochs import Data, Stopping, count_only, train
from fastlin.optim.state import CANCELLATION, GRADIENT, PEGASOS, REACH, RULE, OnlineState
from fastlin.validation import Rows, real_number, whole_number

Held = tuple[Rows, NDArray[np.int32]]


@dataclass(frozen=True)
class Options:
    """The parameters of an estimator, checked, in the form the engine takes."""

    rule: NDArray[Any]
    stopping: Stopping
    sampling: str


class OnlineClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier that learns row by row. A subclass says which loss and which step, in `_rule`."""

    fit_intercept: bool
    max_iter: int
    tol: float | None
    shuffle: bool
    verbose: int
    n_jobs: int | None
    random_state: Any
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    class_weight: Any
    warm_start: bool
    average: bool | int
    dtype: Any
    callback: Any

    classes_: NDArray[Any]
    n_features_in_: int
    _state: OnlineState
    _generator: np.random.Generator

    def _rule(self) -> dict[str, Any]:
        """The fields of `engine/steps.pxd`'s Rule in which this learner differs from the others."""
        raise AttributeError(f"{type(self).__name__} does not say how it learns")

    def _sampling(self) -> str:
        return "shuffle" if self.shuffle else "order"

    # Learning

    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Learn from scratch or, with `warm_start`, from the present weights.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Dense or sparse; a CSR of float32 or float64 with int32 indices is used where it lies.
        y : array of shape (n_samples,)
            Labels: strings or integers.
        coef_init, intercept_init : arrays in the shapes of `coef_` and `intercept_`, optional
            Where to start.
        sample_weight : array of shape (n_samples,), optional
            Scales the step of each row; rows of weight 0 are skipped.
        X_val, y_val : optional
            Validation data. Their accuracy is recorded in `history_` and, with `early_stopping`, decides when to stop.
        """
        rows, classes, codes, dtype = self._checked(X, y, validation.as_dtype(self.dtype))
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        weights = self._row_weights(sample_weight, classes, codes, strict=True)
        if len(weights) and not weights.any():
            raise ValueError("sample_weight is 0 for every row (class_weight included): there is nothing to learn from")
        options, generator = self._options(dtype), validation.as_generator(self.random_state)
        state = OnlineState(options.rule, rows.n_columns, columns(len(classes)), dtype)
        if self.warm_start and hasattr(self, "classes_") and coef_init is None:
            coef_init = self.coef_
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        state.start_from(*_initial(state.weights.shape, coef_init, intercept_init))

        members, held = np.arange(len(rows)), None
        if X_val is not None or y_val is not None:
            held = self._checked_validation(X_val, y_val, classes, rows.n_columns, dtype)
        elif self.early_stopping:
            members, chosen = self._split(codes, generator)
            held = rows.take(chosen), codes[chosen]
        _check_rate(state, len(members))
        data = Data(rows, codes, weights, members, options.sampling, generator)
        model = copy.copy(self)._install(state, classes, generator)
        history, converged = train(
            state,
            data,
            options.stopping,
            evaluate=None if held is None else lambda: model._accuracy(*held),
            score_decides=self.early_stopping,
            report=self._reporter(model),
            n_jobs=self.n_jobs,
        )
        self._install(state, classes, generator)
        self._record(history, converged)
        validate_data(self, X, reset=True, skip_check_array=True)
        if not converged:
            warnings.warn(
                f"Maximum number of iteration reached before convergence: max_iter={self.max_iter} epochs were not enough "
                f"for tol={self.tol}. Raise max_iter, or set tol=None to run a fixed number of epochs.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one epoch of these rows on top of what is known.

        `classes` may announce labels, as in scikit-learn, but need not: labels may appear in any call.
        """
        first = not hasattr(self, "classes_")
        if not first and not hasattr(self, "_state"):
            raise ValueError("call densify() before partial_fit: the weights are in sparse form")
        dtype = validation.as_dtype(self.dtype) if first else self._state.weights.dtype
        rows, seen, codes, dtype = self._checked(X, y, dtype, reset=first)
        if isinstance(self.class_weight, str):
            raise ValueError(f"class_weight={self.class_weight!r} needs all labels at once: use fit, or a dict of weights")
        weights = self._row_weights(sample_weight, seen, codes, strict=False)
        labels = seen if first else union(self.classes_, seen)
        if classes is not None:
            name = type(self).__name__
            labels = union(labels, validation.as_labels(classes, len(classes), estimator=name, name="classes")[0])
        codes = np.searchsorted(labels, seen).astype(np.int32)[codes]
        options = self._options(dtype)
        if first:
            state = OnlineState(options.rule, rows.n_columns, columns(len(labels)), dtype)
            generator = validation.as_generator(self.random_state)
        else:
            generator, state = self._generator, self._state
            if len(labels) != len(self.classes_):
                state = state.with_columns(*sources(self.classes_, labels))
            state.adopt(options.rule)
        _check_rate(state, len(rows))
        data = Data(rows, codes, weights, np.arange(len(rows)), options.sampling, generator)
        model = copy.copy(self)._install(state, labels, generator)
        history: list[dict[str, Any]] = []
        try:
            if len(labels) > 1:
                history, _ = train(state, data, Stopping(1, None, 1), report=self._reporter(model), n_jobs=self.n_jobs)
            else:
                history = [count_only(state, data)]
        finally:
            if history or not first or state.clock["t"][0]:
                self._install(state, labels, generator)
                self._record(history, True)
        if first:
            validate_data(self, X, reset=True, skip_check_array=True)
        return self

    # What was learnt

    @property
    def coef_(self) -> Any:
        """Weights in scikit-learn's shape: (1, n_features) for two labels, else (n_labels, n_features)."""
        self._check_fitted()
        return self._sparse[0] if hasattr(self, "_sparse") else self._state.coef().T

    @coef_.setter
    def coef_(self, value: Any) -> None:
        self._check_fitted()
        self.densify()
        coef, _ = _initial(self._state.weights.shape, value, None)
        self._state.restart(coef, self.intercept_)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """One number a row of `coef_`."""
        self._check_fitted()
        return self._sparse[1] if hasattr(self, "_sparse") else self._state.intercept()

    @intercept_.setter
    def intercept_(self, value: Any) -> None:
        self._check_fitted()
        self.densify()
        _, intercept = _initial(self._state.weights.shape, None, value)
        self._state.restart(self._state.coef().T, intercept)

    @property
    def t_(self) -> int:
        """Instances counted so far, and one."""
        self._check_fitted()
        return int((self._sparse[2] if hasattr(self, "_sparse") else self._state.clock)["t"][0]) + 1

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row; the first of `classes_` among equals."""
        codes = self._codes(self._checked_rows(X))
        return self.classes_[codes]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores, shape (n_samples, n_labels); for two labels (n_samples,), positive for `classes_[1]`."""
        rows = self._checked_rows(X)
        scores = np.empty((len(rows), len(self.intercept_)))

        def keep(block: NDArray[np.float64], start: int, stop: int) -> None:
            scores[start:stop] = block

        self._forward(rows, keep)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def sparsify(self) -> Self:
        """Turn `coef_` into a CSR and give the dense weights up; `densify` before learning on."""
        self._check_fitted()
        if not hasattr(self, "_sparse"):
            self._sparse = sp.csr_array(self.coef_), self.intercept_, self._state.clock.copy(), self._state.rule
            del self._state
        return self

    def densify(self) -> Self:
        """Turn `coef_` back into an array. An average starts anew."""
        self._check_fitted()
        if hasattr(self, "_sparse"):
            coef, intercept, clock, rule = self._sparse
            self._state = OnlineState(rule, coef.shape[1], coef.shape[0], coef.dtype)
            self._state.clock["t"], self._state.clock["steps"] = clock["t"], clock["steps"]
            self._state.restart(coef.toarray(), intercept)
            del self._sparse
        return self

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays: weights, averages, debts, clock, labels, random generator."""
        self._check_fitted()
        self.densify()
        return self._state.export() | validation.export_labels(self.classes_) | validation.export_generator(self._generator)

    def set_state(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Take over a state that `get_state` returned; learning goes on with the same bits."""
        state = OnlineState.restore(arrays)
        classes = validation.restore_labels(arrays)
        if state.weights.shape[1] != columns(len(classes)):
            raise ValueError(f"state has {state.weights.shape[1]} columns, which does not fit {len(classes)} labels")
        self._install(state, classes, validation.restore_generator(arrays))
        self._record([], True)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Parts

    def _checked(
        self, X: Any, y: Any, dtype: np.dtype[Any] | None, reset: bool = True
    ) -> tuple[Rows, NDArray[Any], NDArray[np.int32], np.dtype[Any]]:
        rows = validation.as_rows(X, dtype=dtype)
        if not reset:
            validate_data(self, X, reset=False, skip_check_array=True)
        classes, codes = validation.as_labels(y, len(rows), estimator=type(self).__name__)
        dtype = rows.values.dtype if dtype is None else dtype
        return rows.astype(dtype), classes, codes, dtype

    def _row_weights(
        self, sample_weight: Any, classes: NDArray[Any], codes: NDArray[np.int32], strict: bool
    ) -> NDArray[np.float64]:
        """One weight a row, or an empty array for all ones."""
        weights = validation.as_weights(sample_weight, len(codes))
        weights = validation.class_weights(self.class_weight, classes, codes, weights, strict)
        return np.empty(0) if weights is None else weights

    def _checked_validation(self, X: Any, y: Any, classes: NDArray[Any], n_columns: int, dtype: np.dtype[Any]) -> Held:
        if X is None or y is None:
            raise ValueError("X_val and y_val must be given together")
        rows = validation.as_rows(X, dtype=dtype, name="X_val")
        if rows.n_columns != n_columns:
            raise ValueError(f"X_val has {rows.n_columns} features, X has {n_columns}")
        seen, codes = validation.as_labels(y, len(rows), estimator=type(self).__name__, name="y_val")
        place = {label: code for code, label in enumerate(classes.tolist())}
        return rows, np.array([place.get(label, -1) for label in seen.tolist()], np.int32)[codes]

    def _split(self, codes: NDArray[np.int32], generator: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to learn from and rows to validate on, labels in equal shares."""
        n = len(codes)
        size = int(np.ceil(n * self.validation_fraction))
        if size >= n or len(np.unique(codes)) > n - size:
            raise ValueError(f"validation_fraction={self.validation_fraction} leaves too few of {n} rows to learn from")
        by_label = generator.permutation(n)
        by_label = by_label[np.argsort(codes[by_label], kind="stable")]
        held = np.zeros(n, bool)
        held[by_label[np.arange(size) * n // size]] = True
        return np.flatnonzero(~held), np.flatnonzero(held)

    def _options(self, dtype: np.dtype[Any]) -> Options:
        """Check every parameter and translate them for the engine."""
        whole_number("max_iter", self.max_iter, 1)
        whole_number("n_iter_no_change", self.n_iter_no_change, 1)
        whole_number("verbose", int(self.verbose), 0)
        real_number("validation_fraction", self.validation_fraction, above=0, below=1)
        tol = None if self.tol is None else real_number("tol", self.tol, at_least=0)
        if not isinstance(self.average, bool | np.bool_):
            whole_number("average", self.average, 0)
        validation.as_callback(self.callback)
        validation.as_jobs(self.n_jobs)
        rule = np.zeros(1, RULE)
        rule["batch_size"], rule["fit_intercept"] = 1, bool(self.fit_intercept)
        rule["average_from"] = int(self.average)
        rule["cancellation"] = CANCELLATION[dtype]
        rule["reach"] = REACH[dtype]
        for field, value in self._rule().items():
            rule[field] = value
        if self.average and rule["l1"] > 0:
            raise ValueError("average together with an L1 penalty has no exact lazy form; use penalty='l2', or average=False")
        adaptive = getattr(self, "learning_rate", None) == "adaptive"
        return Options(rule, Stopping(self.max_iter, tol, self.n_iter_no_change, adaptive), self._sampling())

    def _reporter(self, model: Self) -> Callable[[dict[str, Any]], Any] | None:
        if not self.verbose and self.callback is None:
            return None

        def report(record: dict[str, Any]) -> Any:
            if self.verbose:
                score = f"  validation {record['validation_score']:.4f}" if "validation_score" in record else ""
                print(
                    f"{type(self).__name__}  epoch {record['epoch']}  {record['seconds']:.2f} s  "
                    f"updates {record['updates']}  loss {record['loss']:.6f}{score}",
                    flush=True,
                )
            return self.callback is not None and self.callback(model, record)

        return report

    def _install(self, state: OnlineState, classes: NDArray[Any], generator: np.random.Generator) -> Self:
        self.__dict__.pop("_sparse", None)
        self._state, self.classes_, self._generator = state, classes, generator
        self.n_features_in_ = len(state.weights)
        return self

    def _record(self, history: list[dict[str, Any]], converged: bool) -> None:
        self.history_, self.n_iter_, self.converged_ = history, len(history), converged
        self.objective_ = history[-1]["objective"] if history else np.nan

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit or partial_fit first.")

    def _checked_rows(self, X: Any) -> Rows:
        self._check_fitted()
        rows = validation.as_rows(X, dtype=self.coef_.dtype)
        validate_data(self, X, reset=False, skip_check_array=True)
        return rows

    def _forward(self, rows: Rows, infer: Callable[[NDArray[np.float64], int, int], None]) -> None:
        if not hasattr(self, "_sparse"):
            run.forward(rows, self._state.coef(), self.intercept_, infer, self.n_jobs)
            return
        coef, intercept = self._sparse[:2]
        for start, stop in run.blocks(rows, len(intercept)):
            indices, values = run.part(rows, start, stop, np.float64)
            indptr = rows.indptr[start : stop + 1] - rows.indptr[start]
            block = sp.csr_array((values, indices, indptr), shape=(stop - start, rows.n_columns))
            infer((block @ coef.T).toarray() + intercept, start, stop)

    def _codes(self, rows: Rows) -> NDArray[np.int64]:
        codes = np.empty(len(rows), np.int64)
        self._forward(rows, lambda scores, start, stop: row_kernels.best(scores, codes[start:stop]))
        return codes

    def _accuracy(self, rows: Rows, codes: NDArray[np.int32]) -> float:
        return float(np.mean(self._codes(rows) == codes))


def _initial(
    shape: tuple[int, ...], coef: Any, intercept: Any
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Initial weights in the shape (columns, features), as `coef_`."""
    n_features, n_columns = shape
    if coef is not None:
        coef = coef.toarray() if sp.issparse(coef) else coef
        coef = validation.as_finite(coef, "coef_init", ndim=np.ndim(coef))
        if coef.shape != (n_columns, n_features) and not (n_columns == 1 and coef.shape == (n_features,)):
            raise ValueError(f"coef_init must have shape {(n_columns, n_features)}, got {coef.shape}")
        coef = coef.reshape(n_columns, n_features)
    if intercept is not None:
        intercept = validation.as_vector(np.atleast_1d(intercept), "intercept_init")
        if intercept.shape != (n_columns,):
            raise ValueError(f"intercept_init must have shape {(n_columns,)}, got {intercept.shape}")
    return coef, intercept


def _check_rate(state: OnlineState, n_rows: int) -> None:
    """ηλ₂ ≥ 1 would turn the weights round; only Pegasos's first step, where it is 1 exactly, is meant to forget them."""
    rule, t = state.rule[0], int(state.clock["t"][0]) + min(int(state.rule["batch_size"][0]), n_rows)
    shrinkage = online.learning_rate(state.rule, t) * rule["l2"]
    if rule["step"] == GRADIENT and shrinkage >= 1 and not (rule["schedule"] == PEGASOS and t == 1):
        raise ValueError(
            f"the learning rate at t = {t} times the L2 penalty is {shrinkage:g}; it must stay below 1: lower eta0 or alpha"
        )
