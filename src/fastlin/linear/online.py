"""The body that every online learner shares: validate, encode labels, run epochs, set attributes."""

import contextlib
import warnings
import weakref
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.dataset import Dataset, DatasetView, InMemoryDataset
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.label_sets import column_mapping, label_positions, n_weight_columns, union_of_labels
from fastlin.core.sparse_estimator import checkpoint_of
from fastlin.core.stratified_split import stratified_split
from fastlin.linear.online_config import OnlineOptions, check_rate, initial_coef, initial_intercept, online_options
from fastlin.linear.online_weights import OnlineWeights
from fastlin.optim.epochs import Stopping, count_single_label, train_epochs
from fastlin.optim.online_state import OnlineState
from fastlin.optim.training_state import TrainingState
from fastlin.validation.parameter_kinds import (
    ABSENT,
    BOOL,
    CLASS_WEIGHT,
    DTYPE,
    RUN,
    TRUTH,
    Integer,
    ParameterTable,
    Real,
    check_parameters,
)


class OnlineClassifier(OnlineWeights, ABC):
    """A linear classifier that learns row by row. A subclass says which loss and which step, in `_rule`."""

    _parameters: ClassVar[ParameterTable] = RUN | {
        "fit_intercept": TRUTH, "max_iter": Integer(at_least=1), "tol": Real(at_least=0) | ABSENT, "shuffle": TRUTH,
        "early_stopping": TRUTH, "validation_fraction": Real(above=0, below=1), "n_iter_no_change": Integer(at_least=1),
        "class_weight": CLASS_WEIGHT, "warm_start": TRUTH, "average": BOOL | Integer(at_least=0),
        "dtype": DTYPE | ABSENT, "grow_features": TRUTH,
    }  # fmt: skip

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

    @abstractmethod
    def _rule(self) -> dict[str, Any]:
        """The fields of `engine/online/update_rules.pxd`'s Rule in which this learner differs from the others."""

    def _sampling(self) -> str:
        return "shuffle" if self.shuffle else "order"

    # Learning

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Learn from scratch or, with `warm_start`, from the present weights.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse; a CSR of float32 or float64 with int32 indices is used where it lies. The rows of a corpus
            are visited a segment at a time, segments in random order and rows of each in random order.
        y : array of shape (n_samples,)
            Labels: strings or integers; None with a Corpus, which has its own.
        coef_init, intercept_init : arrays in the shapes of `coef_` and `intercept_`, optional
            Where to start.
        sample_weight : array of shape (n_samples,), optional
            Scales the step of each row; rows of weight 0 are skipped. None with a Corpus.
        X_val, y_val : optional
            Validation data, or a Corpus. Their accuracy is recorded in `history_` and, with `early_stopping`, decides
            when to stop.
        checkpoint : path, optional
            A file that says where the fit stands, written at the end of an epoch, or of a segment of a corpus.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every end.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        model = self._working_copy()
        data = model._read(X, y, sample_weight, validation.as_dtype(self.dtype), reset=True)
        classes = data.classes
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        weights, dtype = self._weights(data, strict=True), self._dtype(data)
        options = self._options(dtype)
        given = {"weights": weights, "coef": coef_init, "intercept": intercept_init, "X_val": X_val, "y_val": y_val}
        given["segments"] = data.rows is None
        source = data if data.rows is None else InMemoryDataset(data.rows, classes=classes, codes=data.codes())
        file = checkpoint_of(self, source, checkpoint, checkpoint_interval, resume, given)
        monitor = FitMonitor(int(self.max_iter), make_callback(model, lambda: model), file)
        generator = monitor.register_generator(validation.as_generator(self.random_state))
        shape = data.n_features, n_weight_columns(len(classes))
        training = TrainingState(shape, options.rule, data.bounds)
        monitor.register_run("epochs", training)
        state = training.online_state or self._beginning(options, shape[0], classes, dtype, coef_init, intercept_init)
        members, held = model._validation_rows(X_val, y_val, data, dtype, generator.generator)
        own = np.arange(len(classes), dtype=np.int32)
        rows = options.source(data, weights, members, own, generator.generator, training)
        if not rows.n_weighted():
            raise ValueError("the weight of every row is zero (sample_weight × class_weight): nothing to learn from")
        check_rate(options.rule, 0, rows.n_weighted())

        model._install(state, classes, generator.generator)
        with state.lock.writing() if self.callback is not None else contextlib.nullcontext() as turn:
            train_epochs(
                state,
                rows,
                monitor,
                training,
                options.stopping,
                evaluate=None if held is None else lambda: model._accuracy(held),
                score_decides=self.early_stopping,
                n_jobs=self.n_jobs,
                generator=generator,
                turn=turn,
            )
            state.settle()
        self._take_fitted(model._record(monitor.history, monitor.converged))
        if not monitor.converged:
            warnings.warn(
                f"Maximum number of iteration reached before convergence: max_iter={self.max_iter} epochs were not "
                f"enough for tol={self.tol}. Raise max_iter, or set tol=None to run a fixed number of epochs.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    @learns
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one epoch of these rows on top of what is known.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : array of shape (n_samples,)
            Labels; new ones may appear in any call. None with a Corpus.
        classes : array, optional
            Labels that may come later. As in scikit-learn, but not needed.
        sample_weight : array of shape (n_samples,), optional
            None with a Corpus.

        Returns
        -------
        self
            Ctrl-C, a step that would overflow and an error in the callback keep the steps taken so far; bad input is
            refused before the first.
        """
        self._load_state()
        model, first = self._working_copy(), not hasattr(self, "classes_")
        if not first:
            self._check_learnt()
            if self._sparse is not None:
                raise ValueError("call densify() before partial_fit: the weights are in sparse form")
        dtype = validation.as_dtype(self.dtype)
        dtype = dtype if first else self._state.weights.dtype
        data = model._read(X, y, sample_weight, dtype, reset=first)
        seen = data.classes
        if self.grow_features:
            model._learn_names(X)
        if isinstance(self.class_weight, str):
            validation.one_of("class_weight", self.class_weight, ["balanced"])
            raise ValueError("class_weight='balanced' needs all labels at once: use fit, or a dict of weights")
        weights = self._weights(data, strict=False)
        known = seen if first else union_of_labels(self.classes_, seen)
        if classes is not None:
            known = union_of_labels(known, validation.as_classes(classes))
        dtype = self._dtype(data) if dtype is None else dtype
        options = self._options(dtype)
        generator = validation.as_generator(self.random_state) if first else self._generator
        training = TrainingState((data.n_features, n_weight_columns(len(known))), options.rule, data.bounds)
        rows = options.source(data, weights, None, label_positions(known, seen), generator, training)
        check_rate(options.rule, 0 if first else int(self._state.clock["t"][0]), rows.n_weighted())

        if first:
            state = OnlineState(options.rule, data.n_features, n_weight_columns(len(known)), dtype)
            model._install(state, known, generator)
        with model._state.lock.writing() as turn:
            if not first:
                state = self._grow(model, data.n_features, known)
                state.set_rule(options.rule)
            try:
                if len(known) > 1:
                    monitor, once = FitMonitor(1, make_callback(model, lambda: model)), Stopping(None, 1)
                    train_epochs(state, rows, monitor, training, once, n_jobs=self.n_jobs, turn=turn, in_pieces=True)
                    history = monitor.history
                else:
                    history = [count_single_label(state, rows)]
            except BaseException as error:
                if not first or isinstance(error, KeyboardInterrupt):  # whole steps have been taken, and stay
                    self._take_fitted(model._record([], converged=False))
                raise
            return self._take_fitted(model._record(history, converged=True))

    def _grow(self, model: Self, n_features: int, classes: NDArray[Any]) -> OnlineState:
        """Make room for features and labels, which others see from now on; who still reads the old state keeps it."""
        state = self._state.with_features(n_features)
        if len(classes) != len(self.classes_):
            state = state.remap_labels(*column_mapping(self.classes_, classes))
        if state is not self._state:
            model._install(state, classes, self._generator)
            old = weakref.ref(self._state)
            self._take_fitted(model)
            held = old()
            if held is not None:
                state.detach(held)
        return state

    # Parts

    def _read(self, X: Any, y: Any, sample_weight: Any, dtype: np.dtype[Any] | None, reset: bool) -> Dataset:
        """What to learn from, rows in memory in the type of the weights; sets or compares the features' names."""
        data = self._read_labelled(X, y, sample_weight, reset, dtype=dtype)
        return data if dtype is None else data.astype(dtype)

    def _dtype(self, data: Dataset) -> np.dtype[Any]:
        """The type of new weights."""
        return validation.as_dtype(self.dtype) or data.dtype

    def _weights(self, data: Dataset, strict: bool) -> NDArray[np.float64]:
        """One weight a row or, for a corpus, which has those itself, a label; an empty array for all ones."""
        own = data.weights()
        factors = validation.class_factors(self.class_weight, data.classes, data.codes(), strict, own)
        if data.rows is None:
            return np.empty(0) if factors is None else factors
        if factors is None:
            return own
        return factors[data.codes()] * own if len(own) else factors[data.codes()]

    def _options(self, dtype: np.dtype[Any]) -> OnlineOptions:
        check_parameters(self)
        return online_options(self, self._rule(), self._sampling(), dtype)

    def _validation_rows(
        self, X_val: Any, y_val: Any, data: Dataset, dtype: np.dtype[Any], generator: np.random.Generator
    ) -> tuple[NDArray[np.int64] | None, DatasetView | None]:
        """(the rows to learn from, None: all; the rows to validate on, None: there are none)."""
        if X_val is not None or y_val is not None:
            return None, self._read_validation(X_val, y_val, data.classes, data, dtype=dtype)
        if not self.early_stopping:
            return None, None
        members, chosen = stratified_split(data.codes(), float(self.validation_fraction), generator)
        return members, DatasetView(data, data.classes).take(chosen)

    def _beginning(
        self,
        options: OnlineOptions,
        n_features: int,
        classes: NDArray[Any],
        dtype: np.dtype[Any],
        coef: Any,
        intercept: Any,
    ) -> OnlineState:
        """The state before the first epoch of a fit."""
        state = OnlineState(options.rule, n_features, n_weight_columns(len(classes)), dtype)
        if self.warm_start and hasattr(self, "classes_") and coef is None:
            if not np.array_equal(self.classes_, classes) or self.n_features_in_ != n_features:
                raise ValueError("warm_start goes on with the same labels and features; these differ: use partial_fit")
            coef, intercept = self.coef_, self.intercept_ if intercept is None else intercept
        state.start_from(
            None if coef is None else initial_coef(coef, state),
            None if intercept is None else initial_intercept(intercept, state),
        )
        return state
