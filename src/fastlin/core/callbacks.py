"""Callbacks of a fit: a printed line for each record of its history, and the user's function."""

from collections.abc import Callable
from typing import Any

from fastlin.core.fit_tasks import claim_fit_task

Report = Callable[[dict[str, Any]], Any]  # takes a record; says whether to end


def make_callback(model: Any, install: Callable[[], Any]) -> Report | None:
    """Make what is called after each record: `verbose` prints it, `callback` gets it; None for neither.

    `install` returns the model as far as it is, for the callback, and for those of scikit-learn's protocol.
    """
    task = claim_fit_task()
    if not model.verbose and model.callback is None and task is None:
        return None

    def report(record: dict[str, Any]) -> Any:
        print_record(model, record)
        stops = model.callback is not None and model.callback(install(), record)
        return (task is not None and task.log(record, install)) or stops

    return report


def print_record(model: Any, record: dict[str, Any]) -> None:
    """Print a record, if `verbose` asks for it."""
    if model.verbose:
        fields = "  ".join(_field(name, value) for name, value in record.items() if not _empty(value))
        print(f"{type(model).__name__}  {fields}", flush=True)  # noqa: T201 - verbose asks for it


def _empty(value: Any) -> bool:
    return isinstance(value, list) and not value


def _field(name: str, value: Any) -> str:
    if name == "seconds":
        return f"{value:.2f} s"
    return f"{name.replace('_', ' ')} {format(value, '.10g') if isinstance(value, float) else value}"
