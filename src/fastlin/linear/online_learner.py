"""The body that online learners share, of labels and of real targets: run epochs, set attributes."""

import contextlib
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.dataset import Dataset
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.fit_records import FitRecord
from fastlin.core.sparse_estimator import checkpoint_of
from fastlin.linear.online_config import OnlineOptions, initial_coef, initial_intercept, online_options
from fastlin.linear.online_parameters import ONLINE, check_rate
from fastlin.linear.online_weights import OnlineWeights
from fastlin.optim.epochs import RowSource, Stopping, train_epochs
from fastlin.optim.online_state import OnlineState
from fastlin.optim.training_state import TrainingState
from fastlin.runtime.shared_lock import Turn
from fastlin.validation.parameter_kinds import ParameterTable, check_parameters

Members = NDArray[np.int64] | None  # the rows to learn from; None: all


class OnlineFit(NamedTuple):
    """What a fit learns from, and what in it depends on the kind of target."""

    data: Dataset
    source: Dataset  # what a checkpoint is compared with, beside the arguments `given`
    given: dict[str, Any]
    n_columns: int
    dtype: np.dtype[Any]
    options: OnlineOptions
    hold_out: Callable[[np.random.Generator], tuple[Members, Callable[[], float] | None]]  # rows, and a score of others
    make_rows: Callable[[Members, np.random.Generator, TrainingState], RowSource]
    check_warm_start: Callable[[], None]
    coef_init: Any
    intercept_init: Any


class OnlineLearner(OnlineWeights, ABC):
    """A linear model that learns row by row. A subclass says which loss and which step, in `_rule`."""

    _parameters: ClassVar[ParameterTable] = ONLINE

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
    warm_start: bool
    average: bool | int
    dtype: Any
    callback: Any

    @abstractmethod
    def _rule(self) -> dict[str, Any]:
        """The fields of `engine/online/update_rules.pxd`'s Rule in which this learner differs from the others."""

    def _sampling(self) -> str:
        return "shuffle" if self.shuffle else "order"

    def _dtype(self, data: Dataset) -> np.dtype[Any]:
        """The type of new weights."""
        return validation.as_dtype(self.dtype) or data.dtype

    def _options(self, dtype: np.dtype[Any], dense: bool) -> OnlineOptions:
        check_parameters(self)
        return online_options(self, self._rule(), self._sampling(), dtype, dense)

    def _run_fit(
        self,
        model: Self,
        fit: OnlineFit,
        install: Callable[[OnlineState, np.random.Generator], Any],
        checkpoint: Any,
        checkpoint_interval: float,
        resume: bool,
    ) -> Self:
        """Learn in epochs on a working copy, and take over what it has learnt."""
        options = fit.options
        file = checkpoint_of(self, fit.source, checkpoint, checkpoint_interval, resume, fit.given)
        monitor = FitMonitor(int(self.max_iter), make_callback(model, lambda: model), file)
        generator = monitor.register_generator(validation.as_generator(self.random_state))
        training = TrainingState((fit.data.n_features, fit.n_columns), options.rule, fit.data.bounds)
        monitor.register_run("epochs", training)
        state = training.online_state or self._beginning(fit)
        members, evaluate = fit.hold_out(generator.generator)
        rows = fit.make_rows(members, generator.generator, training)
        check_rate(options.rule, 0, rows.n_weighted())

        install(state, generator.generator)
        with state.lock.writing() if self.callback is not None else contextlib.nullcontext() as turn:
            train_epochs(
                state,
                rows,
                monitor,
                training,
                options.stopping,
                evaluate=evaluate,
                score_decides=self.early_stopping,
                n_jobs=self.n_jobs,
                generator=generator,
                turn=turn,
            )
            state.settle()
        self._take_fitted(model._record(monitor.history, monitor.converged))
        if not monitor.converged:
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                f"fit. {self.max_iter} epochs were not enough for tol={self.tol}; tol=None runs a fixed number.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self

    def _begin_partial_fit(self) -> tuple[Self, bool, np.dtype[Any] | None]:
        """(a working copy, whether it knows nothing yet, the type of the weights, where that is settled)."""
        check_parameters(self)
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit, which is one epoch: use fit")
        self._load_state()
        model, first, wanted = self._working_copy(), not self.__sklearn_is_fitted__(), validation.as_dtype(self.dtype)
        if not first:
            self._check_learnt()
            if self._sparse is not None:
                raise ValueError("call densify() before partial_fit: the weights are in sparse form")
        return model, first, wanted if first else self._state.weights.dtype

    def _run_once(
        self,
        model: Self,
        options: OnlineOptions,
        grow: Callable[[], OnlineState],
        learn: Callable[[OnlineState, Turn], list[FitRecord]],
        first: bool,
    ) -> Self:
        """Learn one epoch: the copy has a state; that of a model that knows something already is made to grow."""
        with model._state.lock.writing() as turn:
            state = model._state if first else grow()
            if not first:
                state.set_rule(options.rule)
            try:
                history = learn(state, turn)
            except BaseException as error:
                if not first or isinstance(error, KeyboardInterrupt):  # whole steps have been taken, and stay
                    self._take_fitted(model._record([], converged=False))
                raise
            return self._take_fitted(model._record(history, converged=True))

    def _train_once(
        self, model: Self, state: OnlineState, rows: RowSource, training: TrainingState, turn: Turn
    ) -> list[FitRecord]:
        """One epoch in place, in which others are let in."""
        monitor, once = FitMonitor(1, make_callback(model, lambda: model)), Stopping(None, 1)
        train_epochs(state, rows, monitor, training, once, n_jobs=self.n_jobs, turn=turn, in_pieces=True)
        return monitor.history

    def _replace_state(
        self, model: Self, state: OnlineState, name_columns: Callable[[], None] = lambda: None
    ) -> OnlineState:
        """Put a state that has grown in the place of the present one, which others may read still."""
        if state is not self._state:
            model._install(state, self._generator)
            name_columns()
            old = weakref.ref(self._state)
            self._take_fitted(model)
            held = old()
            if held is not None:
                state.detach(held)
        return state

    def _beginning(self, fit: OnlineFit) -> OnlineState:
        """The state before the first epoch of a fit."""
        state = OnlineState(fit.options.rule, fit.data.n_features, fit.n_columns, fit.dtype)
        coef, intercept = fit.coef_init, fit.intercept_init
        if self.warm_start and self.__sklearn_is_fitted__() and coef is None:
            fit.check_warm_start()
            coef, intercept = self.coef_, self.intercept_ if intercept is None else intercept
        state.start_from(
            None if coef is None else initial_coef(coef, state),
            None if intercept is None else initial_intercept(intercept, state),
        )
        return state
