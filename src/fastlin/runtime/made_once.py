"""Attributes that are made when they are first asked for."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Generic, TypeVar, overload

T = TypeVar("T")


class made_once(Generic[T]):  # noqa: N801 - a decorator
    """A property of an immutable object, made when it is first asked for and kept.

    Two threads that ask at once may both make it, the same, and one is kept. There is no lock, as there is in
    `functools.cached_property`, that a forked process could wait for.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "made_once[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> "made_once[T] | T":
        if instance is None:
            return self
        made: T = instance.__dict__.setdefault(self._name, self._make(instance))
        return made


class FieldsOnly:
    """A dataclass that is copied and pickled by its fields; what is made once is made anew of a copy.

    (Copies of `__dict__` would meet the attributes that another thread makes in the meantime.)
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
