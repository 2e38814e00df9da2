"""The body that every online learner shares: validate, encode labels, run epochs, set attributes."""

import contextlib
import copy
import warnings
import weakref
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import store, validation
from fastlin.core.estimator import learns, reads
from fastlin.data import Corpus
from fastlin.linear.base import (
    Infer,
    Readable,
    Scorer,
    Whole,
    checkpoint_of,
    dense_scorer,
    labels_of,
    refuse_beside_corpus,
    sparse_scorer,
    width_of,
)
from fastlin.linear.growing import GrowingClassifier, grown_scorer, known_only, lasting_scorer
from fastlin.linear.labels import columns, places, shares, sources, union
from fastlin.linear.options import Options, check_rate, checked_options, initial_coef, initial_intercept
from fastlin.linear.reporting import reporter
from fastlin.optim.course import Course, Keeper
from fastlin.optim.epochs import Stopping, count_only, train
from fastlin.optim.state import OnlineState
from fastlin.validation import Rows, as_sparse


class SparseWeights(NamedTuple):
    """What `sparsify` leaves of a state, or what a model file holds of one: all that predictions need."""

    coef: Any  # a CSR or, from a file, maybe an array
    intercept: NDArray[np.float64]
    clock: NDArray[Any]
    rule: NDArray[Any]
    learning: dict[str, NDArray[Any]] | None = None  # the whole state, as it lies in the file


class OnlineClassifier(GrowingClassifier, ABC):
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
    _sparse: SparseWeights | None
    _generator: np.random.Generator

    @abstractmethod
    def _rule(self) -> dict[str, Any]:
        """The fields of `engine/steps.pxd`'s Rule in which this learner differs from the others."""

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
        every: float = 60.0,
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
        every : float
            Seconds between two checkpoints; 0 makes one at every end.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        model = self._working_copy()
        (rows, codes), classes = model._checked(X, y, sample_weight, validation.as_dtype(self.dtype), reset=True)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        weights = self._weights(rows, sample_weight, classes, codes, strict=True)
        dtype = self._dtype(rows)
        options, generator = self._options(dtype), validation.as_generator(self.random_state)
        given = {"weights": weights, "coef": coef_init, "intercept": intercept_init, "X_val": X_val, "y_val": y_val}
        given["segments"] = isinstance(rows, Corpus)
        source = rows if isinstance(rows, Corpus) else Whole(rows, classes, codes, np.empty(0))
        keeper = Keeper(checkpoint_of(self, source, checkpoint, every, resume, given), generator)
        shape = width_of(rows), columns(len(classes))
        keeper.check(shape, options.rule, rows.bounds if isinstance(rows, Corpus) else np.array([0, len(rows)]))
        state = keeper.state or self._beginning(options, shape[0], classes, dtype, coef_init, intercept_init)
        members, held = model._validation_rows(X_val, y_val, classes, rows, codes, generator)
        own = np.arange(len(classes), dtype=np.int32)
        data = options.source(rows, codes, weights, members, own, generator, keeper.course)
        if not data.counted():
            raise ValueError("the weight of every row is zero (sample_weight × class_weight): nothing to learn from")
        check_rate(options.rule, 0, data.counted())

        model._install(state, classes, generator)
        with state.lock.writing() if self.callback is not None else contextlib.nullcontext() as turn:
            history, converged = train(
                state,
                data,
                options.stopping,
                evaluate=None if held is None else lambda: model._accuracy(*held),
                score_decides=self.early_stopping,
                report=reporter(model, lambda: model),
                n_jobs=self.n_jobs,
                keeper=keeper,
                turn=turn,
            )
            state.settle()
        self._become(model._record(history, converged))
        if not converged:
            warnings.warn(
                f"Maximum number of iteration reached before convergence: max_iter={self.max_iter} epochs were not "
                f"enough for tol={self.tol}. Raise max_iter, or set tol=None to run a fixed number of epochs.",
                ConvergenceWarning,
                stacklevel=2,
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
        self._wake()
        model, first = self._working_copy(), not hasattr(self, "classes_")
        if not first:
            self._check_learnt()
            if self._sparse is not None:
                raise ValueError("call densify() before partial_fit: the weights are in sparse form")
        dtype = validation.as_dtype(self.dtype)
        dtype = dtype if first else self._state.weights.dtype
        (rows, codes), seen = model._checked(X, y, sample_weight, dtype, reset=first)
        if self.grow_features:
            model._learn_names(X)
        if isinstance(self.class_weight, str):
            validation.one_of("class_weight", self.class_weight, ["balanced"])
            raise ValueError("class_weight='balanced' needs all labels at once: use fit, or a dict of weights")
        weights = self._weights(rows, sample_weight, seen, codes, strict=False)
        known = seen if first else union(self.classes_, seen)
        if classes is not None:
            known = union(known, validation.as_classes(classes))
        dtype = self._dtype(rows) if dtype is None else dtype
        options = self._options(dtype)
        generator = validation.as_generator(self.random_state) if first else self._generator
        data = options.source(rows, codes, weights, None, places(known, seen), generator, Course())
        check_rate(options.rule, 0 if first else int(self._state.clock["t"][0]), data.counted())

        if first:
            state = OnlineState(options.rule, width_of(rows), columns(len(known)), dtype)
            model._install(state, known, generator)
        with model._state.lock.writing() as turn:
            if not first:
                state = self._grow(model, width_of(rows), known)
                state.adopt(options.rule)
            try:
                if len(known) > 1:
                    report, once = reporter(model, lambda: model), Stopping(1, None, 1)
                    history, _ = train(state, data, once, report=report, n_jobs=self.n_jobs, turn=turn, in_pieces=True)
                else:
                    history = [count_only(state, data)]
            except BaseException as error:
                if not first or isinstance(error, KeyboardInterrupt):  # whole steps have been taken, and stay
                    self._become(model._record([], converged=False))
                raise
            return self._become(model._record(history, converged=True))

    def _grow(self, model: Self, n_features: int, classes: NDArray[Any]) -> OnlineState:
        """Make room for features and labels, which others see from now on; who still reads the old state keeps it."""
        state = self._state.with_features(n_features)
        if len(classes) != len(self.classes_):
            state = state.with_columns(*sources(self.classes_, classes))
        if state is not self._state:
            model._install(state, classes, self._generator)
            old = weakref.ref(self._state)
            self._become(model)
            held = old()
            if held is not None:
                state.detach(held)
        return state

    # What was learnt

    @property
    @reads
    def coef_(self) -> Any:
        """Weights in scikit-learn's shape: (1, n_features) for two labels, else (n_labels, n_features)."""
        self._check_learnt()
        return self._state.coef().T if self._sparse is None else self._sparse.coef

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
            state.restart(state.by_label().T, initial_intercept(value, state))

    @property
    @reads
    def t_(self) -> int:
        """Instances counted so far, and one."""
        self._check_fitted()
        if self._sparse is not None:
            return int(self._sparse.clock["t"][0]) + 1
        with self._state.lock.reading():
            return int(self._state.clock["t"][0]) + 1

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores, shape (n_samples, n_labels); for two labels (n_samples,), positive for `classes_[1]`."""
        scores = self._scores(self._checked_rows(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

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
        """Turn `coef_` into a CSR and give the dense weights up; `densify` before learning on."""
        self._check_learnt()
        self._wake()
        if self._sparse is not None:
            return self
        model, state = self._working_copy(), self._state
        model._sparse = SparseWeights(
            sp.csr_array(state.by_label().T), state.intercept(), state.clock.copy(), state.rule.copy()
        )
        del model._state
        return self._become(model)

    @learns
    def densify(self) -> Self:
        """Turn `coef_` back into an array. An average and Adagrad's sums start anew."""
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
        return self._become(model)

    def _wake(self) -> None:
        """Weights that lie in a file become weights that learn."""
        served = getattr(self, "_sparse", None)
        if served is not None and not sp.issparse(served.coef):
            self.densify()

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays: weights, averages, debts, clock, labels, random generator."""
        self._check_fitted()
        model = self._lasting()
        model._wake()
        if model._sparse is not None:
            raise ValueError("call densify() before get_state: the weights are in sparse form")
        labels = store.export_labels(model.classes_)
        return model._state.export() | labels | store.export_generator(model._generator)

    @learns
    def set_state(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Take over a state that `get_state` returned; learning goes on with the same bits."""
        state = OnlineState.restore(arrays)
        classes = store.restore_labels(arrays)
        if len(state.order) != columns(len(classes)):
            raise ValueError(f"state has {len(state.order)} columns, which does not fit {len(classes)} labels")
        model = self._working_copy()._install(state, classes, store.restore_generator(arrays))
        return self._become(model._record([], converged=True))

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

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, dtype: np.dtype[Any] | None, reset: bool
    ) -> tuple[tuple[Readable, NDArray[np.int32]], NDArray[Any]]:
        """((rows, codes), classes), rows in memory in the type of the weights; sets or compares the features' names."""
        if isinstance(X, Corpus):
            refuse_beside_corpus(y=y, sample_weight=sample_weight)
            classes = labels_of(X)
            self._check_width(X, X, reset)
            return (X, X.codes()), classes
        rows = validation.as_rows(X, dtype=dtype)
        self._check_width(X, rows, reset)
        classes, codes = validation.as_labels(y, len(rows), estimator=type(self).__name__)
        return (rows if dtype is None else rows.astype(dtype), codes), classes

    def _dtype(self, rows: Readable) -> np.dtype[Any]:
        """The type of new weights."""
        return validation.as_dtype(self.dtype) or (rows.values.dtype if isinstance(rows, Rows) else rows.dtype)

    def _weights(
        self, rows: Readable, sample_weight: Any, classes: NDArray[Any], codes: NDArray[np.int32], strict: bool
    ) -> NDArray[np.float64]:
        """One weight a row or, for a corpus, which has those itself, a label; an empty array for all ones."""
        if isinstance(rows, Rows):
            weights = validation.as_weights(sample_weight, len(codes))
            weights = validation.class_weights(self.class_weight, classes, codes, weights, strict)
        else:
            weights = validation.class_factors(self.class_weight, classes, codes, strict, rows.weights())
        return np.empty(0) if weights is None else weights

    def _options(self, dtype: np.dtype[Any]) -> Options:
        return checked_options(self, self._rule(), self._sampling(), dtype)

    def _validation_rows(
        self,
        X_val: Any,
        y_val: Any,
        classes: NDArray[Any],
        rows: Readable,
        codes: NDArray[np.int32],
        generator: np.random.Generator,
    ) -> tuple[NDArray[np.int64] | None, tuple[Readable, NDArray[np.int32]] | None]:
        """(the rows to learn from, None: all; the rows to validate on and their codes, None: there are none)."""
        if X_val is not None or y_val is not None:
            return None, self._checked_validation(X_val, y_val, classes, rows)
        if not self.early_stopping:
            return None, None
        members, chosen = shares(codes, self.validation_fraction, generator)
        return members, (rows.take(chosen) if isinstance(rows, Rows) else rows.subset(chosen), codes[chosen])

    def _beginning(
        self, options: Options, n_features: int, classes: NDArray[Any], dtype: np.dtype[Any], coef: Any, intercept: Any
    ) -> OnlineState:
        """The state before the first epoch of a fit."""
        state = OnlineState(options.rule, n_features, columns(len(classes)), dtype)
        if self.warm_start and hasattr(self, "classes_") and coef is None:
            if not np.array_equal(self.classes_, classes) or self.n_features_in_ != n_features:
                raise ValueError("warm_start goes on with the same labels and features; these differ: use partial_fit")
            coef, intercept = self.coef_, self.intercept_ if intercept is None else intercept
        state.start_from(
            None if coef is None else initial_coef(coef, state),
            None if intercept is None else initial_intercept(intercept, state),
        )
        return state

    def _install(self, state: OnlineState, classes: NDArray[Any], generator: np.random.Generator) -> Self:
        self._state, self._sparse, self.classes_, self._generator = state, None, classes, generator
        self.n_features_in_ = len(state.weights)
        return self

    def _record(self, history: list[dict[str, Any]], converged: bool) -> Self:
        self.history_, self.n_iter_, self.converged_ = history, len(history), converged
        self.objective_ = history[-1]["objective"] if history else np.nan
        return self

    def _check_learnt(self) -> None:
        """Refuse labels, or a number of features, that do not fit the weights: users may set them."""
        self._check_fitted()
        served = self._sparse
        width, n_features = (len(self._state.order), len(self._state.weights)) if served is None else served.coef.shape
        classes = self.classes_
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or columns(len(classes)) != width:
            raise ValueError(f"classes_ must be an array of the labels that {width} column(s) of weights belong to")
        if self.n_features_in_ != n_features:
            raise ValueError(
                f"n_features_in_ is {self.n_features_in_!r}, but there are weights of {n_features} features"
            )

    def _checked_rows(self, X: Any) -> Readable:
        self._check_learnt()
        return super()._checked_rows(X)

    def _wanted(self) -> dict[str, Any]:
        return {"dtype": (self._state.weights if self._sparse is None else self._sparse.coef).dtype}

    def _forward(self, rows: Readable, scorer: Scorer, infer: Infer) -> None:
        if self._sparse is None and isinstance(rows, Corpus):  # all of its segments meet the same weights
            scorer = lasting_scorer(self._state, self.n_jobs)
        super()._forward(rows, scorer, infer)

    def _scorer(self) -> Scorer:
        if self._sparse is None:
            return grown_scorer(self._state, self.n_jobs)
        coef, intercept = self._sparse.coef, self._sparse.intercept
        scorer = sparse_scorer(coef, intercept) if sp.issparse(coef) else dense_scorer(coef.T, intercept, self.n_jobs)
        return known_only(scorer, coef.shape[1])
