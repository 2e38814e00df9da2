"""Codecs: how what a model has learnt becomes a state of plain values, arrays and other models, and comes back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastlin.storage.load_context import LoadContext
from fastlin.storage.weight_packing import Packing

State = dict[str, Any]


@dataclass(frozen=True)
class ModelCodec:
    """Conversion of what the models of a class have learnt to a state, and back.

    `to_state` returns it as plain values, arrays and other models. `from_state` proves such a state and lets a new
    model of the same parameters have it; ValueError, TypeError, KeyError: there is no such model.
    """

    to_state: Callable[[Any, Packing], State]
    from_state: Callable[[Any, State, LoadContext], None]


def attributes(*names: str) -> ModelCodec:
    """The codec that keeps attributes as they are: for what no kernel reads without looking."""

    def to_state(model: Any, _: Packing) -> State:
        return {name: vars(model)[name] for name in names if name in vars(model)}

    def from_state(model: Any, state: State, _: LoadContext) -> None:
        reject_unknown(state, *names)
        for name, value in state.items():
            setattr(model, name, value)

    return ModelCodec(to_state, from_state)


def or_unfitted(codec: ModelCodec) -> ModelCodec:
    """The codec of models that may be parameters of others: one that is not fitted is its parameters."""

    def to_state(model: Any, packing: Packing) -> State:
        return codec.to_state(model, packing) if model.__sklearn_is_fitted__() else {}

    def from_state(model: Any, state: State, context: LoadContext) -> None:
        if state:
            codec.from_state(model, state, context)

    return ModelCodec(to_state, from_state)


def reject_unknown(state: State, *names: str) -> None:
    """Refuse what a model of the class does not have."""
    unknown = set(state) - set(names)
    if unknown:
        raise ValueError(f"no model of its class has {min(unknown)!r:.60}")
