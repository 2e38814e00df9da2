"""How are two programs compared on a machine that never holds still?

They run in one process, in turns, the order reversed every other round, on one core; a figure is the
median of its rounds, and what is reported is a ratio of medians. Import this module before numpy: it
is what keeps the libraries to one thread and the process to one core, unless ``--threads`` is given.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

ONE_THREAD = "--threads" not in sys.argv
if ONE_THREAD:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

Run = Callable[[], object]
Prepare = Callable[[], Run]  # not timed; makes what is
Times = dict[str, list[float]]

RESULTS = Path(__file__).parent / "build" / "results"  # seconds; report.py makes ratios of them, for bench/results
PACKAGES = (
    *("fastlin", "scikit-learn", "vowpalwabbit", "liblinear-official", "fasttext-wheel", "nltk", "python-crfsuite"),
    *("hmmlearn", "numpy", "scipy"),
)


def arguments(question: str) -> argparse.ArgumentParser:
    """The options that every script has."""
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument("--repeat", type=int, default=5, help="rounds, the median of which counts")
    parser.add_argument("--threads", action="store_true", help="leave the threads and cores as they are")
    parser.add_argument("--only", help="only the questions whose name contains this")
    return parser


def seconds(run: Run, clock: Callable[[], float] = perf_counter) -> float:
    start = clock()
    run()
    return clock() - start


def interleave(contenders: dict[str, Prepare], repeat: int, clock: Callable[[], float] = perf_counter) -> Times:
    """Seconds of every contender in every round, after one round that does not count."""
    times: Times = {name: [] for name in contenders}
    names = list(contenders)
    gc.collect()
    gc.disable()  # and never collect between runs: that would empty the caches for the next
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for turn in range(repeat + 1):
                for name in names if turn % 2 else reversed(names):
                    spent = seconds(contenders[name](), clock)
                    if turn:
                        times[name].append(spent)
    finally:
        gc.enable()
    return times


def epochs(fits: dict[str, Callable[[int], Prepare]], few: int, more: int, repeat: int) -> dict[str, dict[str, float]]:
    """CPU seconds an epoch of learners whose contender is ``fits[name](epochs)``.

    ``whole`` is a fit of ``few`` epochs over ``few``, so it has its share of checks and set-up;
    ``further`` is what each of ``more`` epochs adds to it.
    """
    contenders = {f"{name}:{count}": fit(count) for name, fit in fits.items() for count in (few, few + more)}
    times = interleave(contenders, repeat, process_time)
    answer = {}
    for name in fits:
        short, long = times[f"{name}:{few}"], times[f"{name}:{few + more}"]
        added = median(b - a for a, b in zip(short, long, strict=True))
        answer[name] = {"whole": median(short) / few, "further": added / more}
    return answer


@contextmanager
def all_cores() -> Iterator[None]:
    """Every core for the process, which is kept to one by this module."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def facts() -> dict[str, Any]:
    """What a reader needs in order to repeat a run, and nothing about whose machine it was."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "missing"
    return {
        "versions": versions,
        "architecture": platform.machine(),
        "instruction_set": instruction_set(),
        "one_thread": ONE_THREAD,
    }


def instruction_set() -> str:
    """The build of the kernels that this process loaded."""
    try:
        from fastlin.engine import ISA
    except ImportError:
        return "unknown"
    return ISA


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table; numbers keep three significant digits and stand right."""
    cells = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(columns), *cells]) for i in range(len(columns))]
    print(f"\n{title}")
    for line in [list(columns), ["-" * width for width in widths], *cells]:
        padded = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join([line[0].ljust(widths[0]), *padded[1:]]), flush=True)


def save(name: str, results: object) -> None:
    """Write ``build/results/name.json`` beside the scripts."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"facts": facts(), "results": results}, indent=1, default=float)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
