"""How far something is: a bar or a line with the speed and the time left, in the form that suits where it is seen.

In a notebook it is a bar of `tqdm.auto` where tqdm and ipywidgets are installed, and HTML that is rewritten elsewhere;
on a terminal a bar of `rich` or `tqdm` where one is installed, and a line of stderr that is rewritten elsewhere.
"""

import html
import importlib.util
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

    def share(self) -> float | None:
        """How much of the work is done, from 0 to 1; None: nobody knows."""
        return min(1.0, self.done / self.total) if self.total else None

    def __str__(self) -> str:
        seconds = time.perf_counter() - self.started
        parts = [self.name]
        if share := self.share():
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
            _write(f"\r\x1b[K{self}")

    def close(self, finished: bool) -> None:  # noqa: ARG002
        if self.shown:
            _write("\r\x1b[K")


class Log(Stage):
    """A line when the stage is over, for files."""

    def close(self, finished: bool) -> None:
        seconds = time.perf_counter() - self.started
        speed = f", {amount(self.done / seconds)} {self.unit}/s" if self.done and seconds > 0 else ""
        note = f", {self.note}" if self.note else ""
        state = "" if finished else " (not finished)"
        _write(f"{self.name}{state}: {seconds:.2f} s{speed}{note}\n")


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
        self.bars.update(self.task, completed=done, total=self.total, note=f"{speed}  {self.note}")

    def close(self, finished: bool) -> None:  # noqa: ARG002
        self.bars.stop()


class TqdmBar(Stage):
    """A bar of tqdm's: of widgets in a notebook, of characters on a terminal."""

    def __init__(self, name: str, total: float | None, unit: str) -> None:
        from tqdm.auto import tqdm

        super().__init__(name, total, unit)
        self.bar = tqdm(desc=name, total=total, unit=f" {unit}", leave=in_notebook(), unit_scale=True)

    def update(self, done: float, note: str | None = None) -> None:
        super().update(done, note)
        self.bar.total = self.total
        self.bar.set_postfix_str(self.note, refresh=False)
        self.bar.update(done - self.bar.n)

    def close(self, finished: bool) -> None:  # noqa: ARG002
        self.bar.refresh()
        self.bar.close()


class NotebookBar(Stage):
    """A bar in HTML below a cell of a notebook; what it has come to stays there."""

    def __init__(self, name: str, total: float | None, unit: str) -> None:
        from IPython.display import HTML, display

        super().__init__(name, total, unit)
        self._html, self._shown = HTML, self.started
        self._handle: Any = display(HTML(self._text()), display_id=True)

    def update(self, done: float, note: str | None = None) -> None:
        super().update(done, note)
        now = time.perf_counter()
        if now - self._shown >= PAUSE:
            self._shown = now
            self._handle.update(self._html(self._text()))

    def close(self, finished: bool) -> None:
        seconds = clock(time.perf_counter() - self.started)
        parts = [f"{self.name}{'' if finished else ' (not finished)'}", f"{amount(self.done)} {self.unit}", seconds]
        text = "  ".join([*parts, self.note] if self.note else parts)
        self._handle.update(self._html(f"<pre>{html.escape(text)}</pre>"))

    def _text(self) -> str:
        share = self.share()
        value = "" if share is None else f' value="{share:.4f}"'
        return f"<pre><progress{value}></progress>  {html.escape(str(self))}</pre>"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def display_kind(verbose: bool = False) -> type[Stage]:
    """The kind of stage that suits where it is seen; `verbose`: where nobody looks on, a line when it is over."""
    if in_notebook():
        return TqdmBar if is_installed("tqdm") and is_installed("ipywidgets") else NotebookBar
    if sys.stderr.isatty():
        return Bar if is_installed("rich") else TqdmBar if is_installed("tqdm") else Line
    return Log if verbose else Stage


def is_installed(package: str) -> bool:
    """Whether a package can be imported."""
    return importlib.util.find_spec(package) is not None
