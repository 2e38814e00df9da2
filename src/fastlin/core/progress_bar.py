"""A callback of fits that shows how far they are, on terminals and in notebooks."""

import math
from types import TracebackType
from typing import Any, Self

from fastlin.runtime.progress import Stage, display_kind

FIGURES = "loss", "objective", "duality_gap", "gap", "gradient_norm", "validation_score", "val_score"
GAPS = "duality_gap", "gap"  # which `tol` times the objective ends


class ProgressBar:
    """A bar of the iterations or epochs of a fit, with its speed and the time left: a `callback` of any learner.

    In a notebook it is a bar of `tqdm.auto` where tqdm and ipywidgets are installed, elsewhere HTML; on a terminal it
    is one of rich or tqdm where these are installed, elsewhere a line. Where stderr is neither, nothing is shown.
    The time left is that until `max_iter`, or until the gap will have come down to `tol` at the rate of so far, where
    that is sooner.

    A fit ends its bar when it reaches `max_iter`; one that converges earlier leaves it until the next fit, `close`, or
    the end of the `with` block that the bar is the context of.

    Parameters
    ----------
    name : str, optional
        What stands before the bar; the class of the learner if not given.

    Examples
    --------
    >>> from fastlin import ProgressBar, SGDClassifier
    >>> with ProgressBar() as bar:
    ...     model = SGDClassifier(max_iter=5, tol=None, callback=bar).fit([[0.0], [1.0]], ["a", "b"])
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self._stage: Stage | None = None
        self._model: Any = None
        self._first: tuple[float, float] | None = None  # an iteration, and the logarithm of its gap

    def __call__(self, model: Any, record: dict[str, Any]) -> None:
        """Show a record of a fit, which goes on.

        Parameters
        ----------
        model : estimator
            That fits.
        record : dict
            The last of its `history_`.
        """
        done = float(record.get("epoch", record.get("iteration", 0)))
        limit = getattr(model, "max_iter", None)
        if self._stage is None or self._model is not type(model) or done < self._stage.done:
            self.close()
            unit = "epochs" if "epoch" in record else "iterations"
            self._stage = display_kind()(self.name or type(model).__name__, limit, unit)
            self._model, self._first = type(model), None
        self._stage.total = self._expected_total(model, record, done, limit)
        figures = [f"{name.replace('_', ' ')} {record[name]:.6g}" for name in FIGURES if name in record]
        self._stage.update(done, "  ".join(figures))
        if limit is not None and done >= limit:
            self.close()

    def close(self) -> None:
        """End the bar, if there is one."""
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close(True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close(kind is None)

    def _expected_total(self, model: Any, record: dict[str, Any], done: float, limit: Any) -> float | None:
        """Iterations in all: ln gap falls on a line, which reaches ln (tol · objective) there."""
        most = None if limit is None else float(limit)
        gap = next((record[name] for name in GAPS if name in record), 0.0)
        wanted = (getattr(model, "tol", None) or 0.0) * abs(record.get("objective", 0.0))
        if not (gap > 0 and wanted > 0 and math.isfinite(gap)):
            return most
        if self._first is None:
            self._first = done, math.log(gap)
        start, height = self._first
        if done <= start or math.log(gap) >= height:
            return most
        left = max(0.0, math.log(gap / wanted)) * (done - start) / (height - math.log(gap))
        return done + left if most is None else min(most, done + left)
