"""How far a command is: in a notebook or on a terminal a bar, elsewhere nothing, or with --verbose a line a stage."""

import argparse
from typing import Any

from fastlin.runtime.progress import Stage, display_kind


class Progress:
    """Makes stages in the form that suits where stderr goes."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.kind: type[Stage] = Stage if options.quiet else display_kind(options.verbose)

    @property
    def shown(self) -> bool:
        """Whether anybody looks on: otherwise, nobody needs to be told."""
        return self.kind is not Stage

    def stage(self, name: str, total: float | None = None, unit: str = "bytes") -> Stage:
        return self.kind(name, total, unit)


def watch(learner: Any, stage: Stage) -> None:
    """Let the records of a learner's fit move a stage, if it has a callback."""
    parameters = learner.get_params(deep=False)
    if "callback" not in parameters:
        return

    def callback(_: Any, record: dict[str, Any]) -> None:
        done = record.get("epoch", record.get("iteration", 0))
        figures = ("loss", "objective", "gap", "gradient_norm", "validation_score")
        stage.update(done, "  ".join(f"{name} {record[name]:.6g}" for name in figures if name in record))

    learner.set_params(callback=callback)
