"""The shape of every estimator: what it knows is one dictionary, put in place by one assignment.

* A learning method (`learns`) works on a copy, `_working_copy`, and takes the result over, `_take_fitted`, when all is
  done: a failure leaves everything as it was. Learners of one estimator wait for each other.
* A reading method (`reads`) runs on a view, `_snapshot`, of what is known at its beginning: parameters, weights, labels
  and names of one moment, whatever a learner puts in place meanwhile. A view is a copy of the dictionary and costs
  less than a microsecond. What a reader makes to keep belongs into an object of what was learnt, never into `self`.
* A state that is learnt in place (the weights of online learners) brings its own `SharedLock`; readers hold it while
  they look at the arrays.
"""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from fastlin.core.fit_tasks import CallbackSupportMixin, has_callbacks, run_fit, without_fit_task
from fastlin.runtime.shared_lock import SharedLock

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
E = TypeVar("E", bound="Estimator")

_LOCK, _VIEW = "_learner_lock", "_is_view"


class Estimator(CallbackSupportMixin, BaseEstimator):
    """An estimator whose readers see one moment of it, and whose learners take turns."""

    def _snapshot(self) -> Self:
        """A view of what is known now; of a view, the view itself."""
        known = self.__dict__
        if _VIEW in known:
            return self
        view = object.__new__(type(self))
        view.__dict__ = {**known, _VIEW: True}
        return view

    def _lasting(self) -> Self:
        """A view to copy or to save, of which nothing is changed in place: one of a state that is brings copies."""
        return self._snapshot()

    def _working_copy(self) -> Self:
        """A copy to learn on, which shares every object with this estimator."""
        copy = object.__new__(type(self))
        copy.__dict__ = self.__dict__.copy()
        copy.__dict__.pop(_VIEW, None)
        return copy

    def _take_fitted(self, model: Self) -> Self:
        """Take over all that a copy has learnt, at once: until then, nothing has changed."""
        self.__dict__ = self._content_of(model)
        return self

    def _content_of(self, model: Self) -> dict[str, Any]:
        """What `__dict__` is when all is taken over that a copy has learnt."""
        return {**model.__dict__, _LOCK: _learner_lock(self)}

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super(Estimator, self._lasting()).__getstate__())
        state.pop(_LOCK, None)
        state.pop(_VIEW, None)
        return state


class StatefulEstimator(Estimator, Generic[S]):
    """An estimator whose learnt state is one immutable object, `_state_of_fit`."""

    _state_of_fit: S

    @property
    def _learnt(self) -> S:
        """The learnt state; NotFittedError: there is none."""
        try:
            return self.__dict__["_state_of_fit"]
        except KeyError:
            raise NotFittedError(f"this {type(self).__name__} has not been fitted; call fit first") from None

    def __sklearn_is_fitted__(self) -> bool:
        return "_state_of_fit" in self.__dict__


def reads(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """A method, or a property's function, that sees one moment of its estimator."""

    @functools.wraps(method)
    def read(self: E, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(self._snapshot(), *args, **kwargs)

    return read


def learns(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """A method that changes what its estimator knows: learners take turns. A `fit` is a task of callbacks."""
    fits = getattr(method, "__name__", "") == "fit"

    @functools.wraps(method)
    def learn(self: E, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with _learner_lock(self).writing():
            if not fits:
                return method(self, *args, **kwargs)
            if has_callbacks(self):
                return run_fit(self, lambda: method(self, *args, **kwargs), args, kwargs)
            with without_fit_task():
                return method(self, *args, **kwargs)

    return learn


def _learner_lock(estimator: Estimator) -> SharedLock:
    """The lock of an estimator's learners, made when the first one comes."""
    lock: SharedLock | None = estimator.__dict__.get(_LOCK)
    return estimator.__dict__.setdefault(_LOCK, SharedLock(guards_arrays=False)) if lock is None else lock
