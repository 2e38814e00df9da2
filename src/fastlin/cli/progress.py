"""How far a command is: a line on stderr that is rewritten, with the speed and the time left.

On a terminal with `rich` (the extra `cli`) it is a bar in colours. Where stderr is no terminal nothing is shown, or
with --verbose a line when a stage ends.
"""

import argparse
import sys
import time
from types import TracebackType
from typing import Any, Self

PAUSE = 0.1  # seconds between two versions of the line


def clock(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def amount(number: float) -> str:
    """A number with its unit of thousands."""
    for unit in ("", "k", "M", "G"):
        if abs(number) < 1000 or unit == "G":
            return f"{number:.3g}{unit}" if number < 1000 else f"{number:.0f}{unit}"
        number /= 1000
    raise AssertionError


class Stage:
    """A part of a command's work that is counted: `update(done)` whenever more is done."""

    def __init__(self, name: str, total: float | None, unit: str) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done, self.note = 0.0, ""
        self.started = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self.close(kind is None)

    def update(self, done: float, note: str | None = None) -> None:
        """So much is done of the total; `note` stands behind it, until there is another."""
        self.done, self.note = done, self.note if note is None else note

    def close(self, finished: bool) -> None:
        """The stage is over."""

    def __str__(self) -> str:
        seconds = time.perf_counter() - self.started
        parts = [self.name]
        if self.total and self.done:
            share = min(1.0, self.done / self.total)
            parts += [f"{share:4.0%}", f"{clock(seconds / share - seconds)} left"]
        if self.done and seconds > 0:
            parts.append(f"{amount(self.done / seconds)} {self.unit}/s")
        return "  ".join([*parts, self.note] if self.note else parts)


class Line(Stage):
    """One line of a terminal."""

    shown = 0.0

    def update(self, done: float, note: str | None = None) -> None:
        super().update(done, note)
        now = time.perf_counter()
        if now - self.shown >= PAUSE:
            self.shown = now
            print(f"\r\x1b[K{self}", end="", file=sys.stderr, flush=True)

    def close(self, finished: bool) -> None:  # noqa: ARG002
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Log(Stage):
    """A line when the stage is over, for files."""

    def close(self, finished: bool) -> None:
        seconds = time.perf_counter() - self.started
        speed = f", {amount(self.done / seconds)} {self.unit}/s" if self.done and seconds > 0 else ""
        note = f", {self.note}" if self.note else ""
        state = "" if finished else " (not finished)"
        print(f"{self.name}{state}: {seconds:.2f} s{speed}{note}", file=sys.stderr, flush=True)


class Bar(Stage):
    """A bar of rich's."""

    def __init__(self, name: str, total: float | None, unit: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        super().__init__(name, total, unit)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        self.bars = Progress(*columns, TextColumn("{task.fields[note]}"), console=console, transient=True)
        self.task = self.bars.add_task(name, total=total, note="")
        self.bars.start()

    def update(self, done: float, note: str | None = None) -> None:
        super().update(done, note)
        speed = f"{amount(done / max(1e-9, time.perf_counter() - self.started))} {self.unit}/s"
        self.bars.update(self.task, completed=done, note=f"{speed}  {self.note}")

    def close(self, finished: bool) -> None:  # noqa: ARG002
        self.bars.stop()


class Progress:
    """Makes stages in the form that suits where stderr goes."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.kind: type[Stage] = Stage
        if options.quiet:
            return
        if sys.stderr.isatty():
            self.kind = Bar if _has_rich() else Line
        elif options.verbose:
            self.kind = Log

    @property
    def shown(self) -> bool:
        """Whether anybody looks on: otherwise, nobody needs to be told."""
        return self.kind is not Stage

    def stage(self, name: str, total: float | None = None, unit: str = "bytes") -> Stage:
        return self.kind(name, total, unit)


def _has_rich() -> bool:
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


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
