"""The body that every online classifier shares: validate, encode labels, make room for new ones."""

from abc import ABC
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import storage, validation
from fastlin.core.dataset import Dataset, DatasetView, InMemoryDataset
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_records import FitRecord
from fastlin.core.label_sets import column_mapping, label_positions, union_of_labels
from fastlin.core.multilabel import MultilabelClassifier, side_factors
from fastlin.core.stratified_split import Split, peer_split
from fastlin.linear.online_learner import Members, OnlineFit, OnlineLearner
from fastlin.linear.online_parameters import ONLINE_CLASSIFIER, check_rate
from fastlin.optim.epochs import RowSource, count_single_label
from fastlin.optim.online_state import OnlineState
from fastlin.optim.training_state import TrainingState
from fastlin.runtime.shared_lock import Turn
from fastlin.validation.parameter_kinds import OneOf, ParameterTable

MULTI_CLASS = OneOf("multinomial", "ovr")


class OnlineClassifier(OnlineLearner, MultilabelClassifier, ABC):
    """A linear classifier that learns row by row. A subclass says which loss and which step, in `_rule`."""

    _parameters: ClassVar[ParameterTable] = ONLINE_CLASSIFIER

    class_weight: Any
    classes_: NDArray[Any]

    def _check_labels(self, n_labels: int) -> None:
        """Refuse a number of labels that the loss is not of."""

    @property
    def _one_vs_rest(self) -> bool:
        """Whether each label against the rest is a model of its own."""
        return self._container is not None or getattr(self, "multi_class", None) == "ovr"

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores, shape (n_samples, n_labels); for two labels (n_samples,), positive for `classes_[1]`.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples, n_labels), or (n_samples,)
            w·x + b of each label; of two labels one number a row.
        """
        scores = self._scores(self._checked_rows(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

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
        y : array of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Labels: strings or integers; None with a Corpus, which has its own. SGDClassifier, Perceptron and
            PassiveAggressiveClassifier may be told, sparse or dense, which labels each row has.
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
        factors = side_factors(self.class_weight, data.label_sets, data.codes(), data.weights())
        options = model._options(dtype, data.dense)
        model._check_labels(len(classes))
        given = {"weights": weights, "coef": coef_init, "intercept": intercept_init, "X_val": X_val, "y_val": y_val}
        given["segments"] = data.rows is None
        source = data
        if data.rows is not None:
            source = InMemoryDataset(data.rows, classes=classes, codes=data.codes(), label_sets=data.label_sets)
        own = np.arange(len(classes), dtype=np.int32)
        split = peer_split(self.random_state, again=checkpoint is not None)

        def make_rows(members: Members, generator: np.random.Generator, training: TrainingState) -> RowSource:
            rows = options.source(data, weights, members, own, generator, training, factors)
            if not rows.n_weighted():
                raise ValueError(
                    "the weight of every row is zero (sample_weight × class_weight): nothing to learn from"
                )
            return rows

        def hold_out(generator: np.random.Generator) -> tuple[Members, Any]:
            members, held = model._validation_rows(
                X_val, y_val, data, dtype, lambda codes: split(codes, float(self.validation_fraction), generator)
            )
            weights = np.empty(0) if held is None else held.dataset.weights()
            if len(weights) and not weights.any():
                raise ValueError(
                    "The sample weights for validation set are all zero, consider using a different random state."
                )
            return members, None if held is None else lambda: model._accuracy(held)

        def check_warm_start() -> None:
            same = (self._container is None) == (model._container is None) and np.array_equal(self.classes_, classes)
            if not same or self.n_features_in_ != data.n_features:
                raise ValueError("warm_start goes on with the same labels and features; these differ: use partial_fit")

        def install(state: OnlineState, generator: np.random.Generator) -> None:
            model._install(state, generator).classes_ = classes

        fit = OnlineFit(
            data,
            source,
            given,
            model._n_columns(len(classes)),
            dtype,
            options,
            hold_out,
            make_rows,
            check_warm_start,
            coef_init,
            intercept_init,
        )
        return self._run_fit(model, fit, install, checkpoint, checkpoint_interval, resume)

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
        model, first, dtype = self._begin_partial_fit()
        data = model._read(X, y, sample_weight, dtype, reset=first)
        seen = data.classes
        if self.grow_features:
            model._learn_names(X)
        if isinstance(self.class_weight, str):
            validation.one_of("class_weight", self.class_weight, ["balanced"])
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use "
                "compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large enough "
                "sample of the full training set target to properly estimate the class frequency distributions. Pass "
                "the resulting weights as the class_weight parameter."
            )
        weights = self._weights(data, strict=False)
        factors = side_factors(self.class_weight, data.label_sets, data.codes(), data.weights())
        known = seen if first else union_of_labels(self.classes_, seen)
        if classes is not None:
            known = union_of_labels(known, validation.as_classes(classes))
        if data.label_sets is not None and len(known) != len(seen):
            raise ValueError(f"classes must be the columns of y, 0 to {len(seen) - 1}")
        dtype = self._dtype(data) if dtype is None else dtype
        options = model._options(dtype, data.dense)
        model._check_labels(len(known))
        generator = validation.as_generator(self.random_state) if first else self._generator
        width = model._n_columns(len(known))
        training = TrainingState((data.n_features, width), options.rule, data.bounds)
        rows = options.source(data, weights, None, label_positions(known, seen), generator, training, factors)
        check_rate(options.rule, 0 if first else int(self._state.clock["t"][0]), rows.n_weighted())

        if first:
            state = OnlineState(options.rule, data.n_features, width, dtype)
            model._install(state, generator).classes_ = known

        def learn(state: OnlineState, turn: Turn) -> list[FitRecord]:
            if len(known) > 1:
                return self._train_once(model, state, rows, training, turn)
            return [count_single_label(state, rows)]

        return self._run_once(model, options, lambda: self._grow(model, data.n_features, known), learn, first)

    def _grow(self, model: Self, n_features: int, classes: NDArray[Any]) -> OnlineState:
        """Make room for features and labels, which others see from now on; who still reads the old state keeps it."""
        state = self._state.with_features(n_features)
        if len(classes) != len(self.classes_):
            sources, factors = column_mapping(self.classes_, classes)
            if (
                state.rule["one_vs_rest"][0] and len(self.classes_) == 2
            ):  # the one column was each label against the rest
                factors *= 2
            state = state.remap_labels(sources, factors)
        return self._replace_state(model, state, lambda: setattr(model, "classes_", classes))

    # Parts

    def _read(self, X: Any, y: Any, sample_weight: Any, dtype: np.dtype[Any] | None, reset: bool) -> Dataset:
        """What to learn from, rows in memory in the type of the weights; sets or compares the features' names."""
        data = self._read_labelled(X, y, sample_weight, reset, dtype=dtype)
        return data if dtype is None else data.astype(dtype)

    def _weights(self, data: Dataset, strict: bool) -> NDArray[np.float64]:
        """One weight a row or, for a corpus, which has those itself, a label; an empty array for all ones."""
        own = data.weights()
        if data.label_sets is not None:
            return own
        factors = validation.class_factors(self.class_weight, data.classes, data.codes(), strict, own)
        if data.rows is None:
            return np.empty(0) if factors is None else factors
        if factors is None:
            return own
        return factors[data.codes()] * own if len(own) else factors[data.codes()]

    def _validation_rows(
        self, X_val: Any, y_val: Any, data: Dataset, dtype: np.dtype[Any], split: Callable[[Any], Split]
    ) -> tuple[NDArray[np.int64] | None, DatasetView | None]:
        """(the rows to learn from, None: all; the rows to validate on, None: there are none)."""
        if X_val is not None or y_val is not None:
            return None, self._read_validation(X_val, y_val, data.classes, data, dtype=dtype)
        if not self.early_stopping:
            return None, None
        strata = data.codes() if data.label_sets is None else np.zeros(len(data), np.int32)
        members, chosen = split(strata)
        return members, DatasetView(data, data.classes).take(chosen)

    def _check_learnt(self) -> None:
        self._check_fitted()
        (width, _), classes = self._weight_shape(), self.classes_
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or self._n_columns(len(classes)) != width:
            raise ValueError(f"classes_ must be an array of the labels that {width} column(s) of weights belong to")
        super()._check_learnt()

    def _export_labels(self) -> dict[str, NDArray[Any]]:
        return storage.export_labels(self.classes_) | self._export_container()

    def _restore_labels(self, arrays: dict[str, NDArray[Any]]) -> None:
        classes, (width, _) = storage.restore_labels(arrays), self._weight_shape()
        self._restore_container(arrays)
        if width != self._n_columns(len(classes)):
            raise ValueError(f"state has {width} columns, which does not fit {len(classes)} labels")
        self.classes_ = classes
