"""Callbacks of a fit: for each record of its history a logged or printed line, and the user's function.

Records go to the logger "fastlin", at the level INFO: `logging` passes on nothing below WARNING unless it is told to.
"""

import logging
from collections.abc import Callable
from typing import Any

from fastlin.core.fit_tasks import claim_fit_task

LOGGER = logging.getLogger("fastlin")
LOGGER.addHandler(logging.NullHandler())
Report = Callable[[dict[str, Any]], Any]  # takes a record; says whether to end


def make_callback(model: Any, install: Callable[[], Any]) -> Report | None:
    """Make what is called after each record: `verbose` prints it, `logging` and `callback` get it; None for none.

    `install` returns the model as far as it is, for the callback, and for those of scikit-learn's protocol.
    """
    task, worded = claim_fit_task(), getattr(model, "_text_of_record", None)
    if not model.verbose and model.callback is None and task is None and not LOGGER.isEnabledFor(logging.INFO):
        return None

    def report(record: dict[str, Any]) -> Any:
        log_record(model, record, None if worded is None else worded(record))
        stops = model.callback is not None and model.callback(install(), record)
        return (task is not None and task.log(record, install)) or stops

    return report


def log_record(model: Any, record: dict[str, Any], text: str | None = None) -> None:
    """Log a record, and print it if `verbose` asks for it; its text lists the fields unless another is given.

    The logged record has the attributes `estimator`, the name of the class, and `fit_record`.
    """
    logged = LOGGER.isEnabledFor(logging.INFO)
    if not logged and not model.verbose:
        return
    name = type(model).__name__
    fields = text or "  ".join(_field(key, value) for key, value in record.items() if not _empty(value))
    if logged:
        LOGGER.info("%s  %s", name, fields, extra={"estimator": name, "fit_record": record})
    if model.verbose:
        print(f"{name}  {fields}", flush=True)  # noqa: T201 - verbose asks for it


def tell(model: Any, line: str) -> None:
    """Print a line, if `verbose` asks for it."""
    if model.verbose:
        print(line, flush=True)  # noqa: T201 - verbose asks for it


def _empty(value: Any) -> bool:
    return isinstance(value, list) and not value


def _field(name: str, value: Any) -> str:
    if name == "seconds":
        return f"{value:.2f} s"
    return f"{name.replace('_', ' ')} {format(value, '.10g') if isinstance(value, float) else value}"
