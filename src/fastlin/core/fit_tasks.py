"""The tasks of a fit, as scikit-learn's callbacks see them: the fit, and in it one for each iteration that is logged.

`set_callbacks` gives an estimator objects of the protocol of `sklearn.callback`, or a search around it hands them on.
`run_fit` makes a fit the task of such callbacks. What reports its history (`callbacks.make_callback`) claims the task,
and logs to it what it logs to the user's own callback: fits inside of the fit, and those in threads, find none.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

R = TypeVar("R")

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    with_callbacks = None

__all__ = [
    "CallbackSupportMixin",
    "FitTask",
    "ReportedTask",
    "claim_fit_task",
    "has_callbacks",
    "run_fit",
    "without_fit_task",
]

SET, PARENT = "_skl_callbacks", "_parent_callback_ctx"  # what scikit-learn sets on an estimator
_PASSING = frozenset({SET, PARENT, "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_learner_lock", "_is_view"})


class FitTask:
    """The task of a fit, and the open one of its present iteration."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self._estimator, self._context = estimator, context
        self._iteration: Any = None
        self.has_no_iterations = getattr(estimator, "max_iter", None) == 0  # what it begins with is all there is

    def begin_iteration(self, fitted: Callable[[], Any] | None = None) -> None:
        """Begin the task of an iteration; none beyond the number that the fit was said to have."""
        most = self._context.max_subtasks
        if most is None or sum(1 for _ in self._context) <= most:
            self._iteration = self._context.subcontext(task_name="iteration")
            self._iteration.call_on_fit_task_begin(estimator=self._estimator, reconstruction_attributes=fitted)

    def end_iteration(self, data: dict[str, Any], fitted: Callable[[], Any] | None = None) -> bool:
        """End the task of the present iteration; returns whether a callback asks for the end of the fit."""
        task, self._iteration = self._iteration, None
        return task is not None and bool(
            task.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=fitted, **data)
        )


class ReportedTask:
    """A task that what reports a fit has claimed."""

    def __init__(self, task: FitTask, data: dict[str, Any]) -> None:
        self._task, self._data = task, data
        task.begin_iteration()

    def log(self, record: dict[str, Any], install: Callable[[], Any]) -> bool:
        """End an iteration and begin the next; a record from before the first ends none, if there is to be a first."""
        if record.get("iteration") == 0 and not self._task.has_no_iterations:
            return False

        def fitted() -> dict[str, Any]:
            return _fitted_attributes(install())

        stops = self._task.end_iteration(self._data, fitted)
        self._task.begin_iteration(fitted)
        return stops


_current: ContextVar[tuple[FitTask, dict[str, Any]] | None] = ContextVar("fit_task", default=None)


def has_callbacks(estimator: Any) -> bool:
    """Whether a fit of this estimator is the task of callbacks: its own, or those that a search has handed on.

    A pipeline sets its context on every step; without callbacks nobody looks at iterations, and none is shown.
    """
    return with_callbacks is not None and bool(estimator.__dict__.get(SET))


def run_fit(estimator: Any, fit: Callable[[], R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    """Run a fit of these arguments as the task of the estimator's callbacks."""
    given = dict(zip(("X", "y", "sample_weight"), args, strict=False)) | kwargs
    weights = given.get("sample_weight")
    data = {name: given.get(name) for name in ("X", "y")}
    data["metadata"] = None if weights is None else {"sample_weight": weights}

    def run(estimator: Any) -> R:
        context = estimator._init_callback_context(max_subtasks=_most_iterations(estimator))
        context.call_on_fit_task_begin(estimator=estimator, **data)
        task = FitTask(estimator, context)
        token = _current.set((task, data))
        try:
            found = fit()
        finally:
            _current.reset(token)
        task.end_iteration(data)
        context.call_on_fit_task_end(
            estimator=estimator, reconstruction_attributes=lambda: _fitted_attributes(estimator), **data
        )
        return found

    result: R = with_callbacks(run)(estimator)
    return result


def claim_fit_task() -> ReportedTask | None:
    """The task of the fit that runs, for the first who asks; None if there is none."""
    current = _current.get()
    if current is None:
        return None
    _current.set(None)
    return ReportedTask(*current)


@contextmanager
def without_fit_task() -> Iterator[None]:
    """Let nothing inside claim the task of the fit that runs."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def _most_iterations(estimator: Any) -> int | None:
    """How many iterations a fit has at most, and one to end with; None: nobody knows."""
    most, starts = getattr(estimator, "max_iter", None), getattr(estimator, "n_init", 1)
    return max(most, 1) + 1 if isinstance(most, int) and most >= 0 and starts == 1 else None


def _fitted_attributes(model: Any) -> dict[str, Any]:
    """What a model has learnt, which nothing will change."""
    passing = _PASSING | set(model._get_param_names())
    return {name: value for name, value in vars(model._lasting()).items() if name not in passing}
