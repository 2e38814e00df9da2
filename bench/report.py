"""What do the benchmarks say, and is a commit slower than another?

    python bench/report.py collect                    # of all that was measured: results/COMMIT-MACHINE.json
    python bench/report.py table [FILE]               # its tables, in Markdown; of the newest file
    python bench/report.py compare BEFORE AFTER       # ratio of ratios: below 1, the later commit has lost

The scripts write seconds to ``build/results``, which say nothing on another machine. What is collected, kept and drawn
(``docs/charts.py``) are ratios: how many times as long as fastlin another program took in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
MEASURED, RESULTS = FOLDER / "build" / "results", FOLDER / "results"
LOST = 0.9  # a ratio of ratios below it is more than the noise of a shared machine


class Ratio(NamedTuple):
    """Seconds of another program by those of fastlin, on a question."""

    label: str
    value: float


# Ratios of what scripts have written


def ratios_of(results: Any, place: str = "") -> Iterator[Ratio]:
    """The ratios of all entries with a question, wherever they are; `place` is the name of what they are in."""
    if isinstance(results, list):
        for each in results:
            yield from ratios_of(each, place)
    elif isinstance(results, dict) and "question" in results:
        yield from _ratios_of_entry(results, place)
    elif isinstance(results, dict):
        for name, each in results.items():
            yield from ratios_of(each, place or str(name))


def _ratios_of_entry(entry: dict[str, Any], place: str) -> Iterator[Ratio]:
    """Ratios of an entry in any of the forms that scripts write.

    {"seconds": {"ours": …, "other": …}}, {"ours": {"further": …}, …} with the seconds of an epoch, {"ours": …,
    "rival": …}, {"ours:step": …, "rival:step": …}; or a column that is a ratio already, "other ÷ ours".
    """
    label = ": ".join(filter(None, [place, str(entry["question"]), _gap(entry)]))
    sides = entry.get("seconds") or {
        name: each["further"] for name, each in entry.items() if isinstance(each, dict) and "further" in each
    }
    sides = sides or {name: value for name, value in entry.items() if isinstance(value, float)}
    steps = sorted({name.partition(":")[2] for name in sides})
    for step in steps:
        here = {name.partition(":")[0]: value for name, value in sides.items() if name.partition(":")[2] == step}
        yield from _ratios_of_sides(here, f"{label}: {step}" if step else label)
    for name, value in entry.items():
        if name.endswith(" ÷ ours") and isinstance(value, float):
            yield Ratio(f"{label}, {name.removesuffix(' ÷ ours')}", value)


def _gap(entry: dict[str, Any]) -> str:
    return f"gap {entry['gap']:g}" if "gap" in entry else ""


def _ratios_of_sides(sides: dict[str, float], label: str) -> Iterator[Ratio]:
    own = {name: seconds for name, seconds in sides.items() if name.startswith("ours")}
    others = {name: seconds for name, seconds in sides.items() if name not in own and seconds}
    for name, seconds in others.items():
        kind = name.rpartition(" ")[2]  # float32 is held against float32
        ours = own.get(f"ours {kind}") or (next(iter(own.values())) if len(own) == 1 else None)
        if ours:
            yield Ratio(label + ("" if name == "rival" else f", {name}"), seconds / ours)


# Files of ratios


def collect(measured: Path = MEASURED, results: Path = RESULTS) -> Path:
    """Write the ratios of all that was measured; the path of the file."""
    found: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    for path in sorted(measured.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        ratios = {each.label: float(f"{each.value:.3g}") for each in ratios_of(content["results"])}
        if ratios:
            found[path.stem] = ratios
            facts = content["facts"]
    if not found:
        sys.exit(f"{measured}: no script has written anything with a ratio")
    facts = {"commit": _git("rev-parse", "--short=10", "HEAD"), "committed": _git("show", "-s", "--format=%cI")} | facts
    path = results / f"{facts['commit']}-{machine()}.json"
    results.mkdir(exist_ok=True)
    path.write_text(
        json.dumps({"facts": facts, "ratios": found}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return path


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=FOLDER, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def machine() -> str:
    """The kind of machine, by its processor; FASTLIN_MACHINE names another."""
    model = ""
    if os.path.exists("/proc/cpuinfo"):
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = found[1] if found else ""
    name = os.environ.get("FASTLIN_MACHINE") or model or platform.processor() or platform.machine()
    name = re.sub(r"\((R|TM|tm|r)\)|\bCPU\b|@.*", "", name)
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def newest(results: Path = RESULTS) -> list[Path]:
    """The file of the latest commit of each machine."""
    latest: dict[str, tuple[str, Path]] = {}
    for path in sorted(results.glob("*.json")):
        when = json.loads(path.read_text(encoding="utf-8"))["facts"]["committed"]
        kind = path.stem.partition("-")[2]
        if kind not in latest or when > latest[kind][0]:
            latest[kind] = when, path
    return [path for _, path in latest.values()]


def tables(path: Path) -> str:
    """The ratios of a file as Markdown, a table for each script."""
    content = json.loads(path.read_text(encoding="utf-8"))
    facts, parts = content["facts"], []
    for script, ratios in content["ratios"].items():
        rows = "".join(f"| {label} | {value:.2g} |\n" for label, value in ratios.items())
        parts.append(f"### {script}\n\n| the other program's seconds ÷ fastlin's | |\n|---|---|\n{rows}")
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items() if number != "missing")
    return "\n".join([*parts, f"Commit {facts['commit']}, {path.stem.partition('-')[2]}; {versions}.\n"])


def compare(before: Path, after: Path) -> str:
    """What has become of every ratio that both files have, those that were lost first."""
    old, new = (json.loads(path.read_text(encoding="utf-8"))["ratios"] for path in (before, after))
    both = [
        (new[script][label] / old[script][label], f"{script}: {label}", old[script][label], new[script][label])
        for script in old.keys() & new.keys()
        for label in old[script].keys() & new[script].keys()
    ]
    lines = [f"{change:6.2f}  {was:8.3g} -> {now:8.3g}  {label}" for change, label, was, now in sorted(both)]
    lost = sum(change < LOST for change, *_ in both)
    return "\n".join([*lines, f"{len(both)} ratios, {lost} below {LOST} of what they were"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("collect", help="ratios of all that was measured, into bench/results")
    commands.add_parser("table", help="tables in Markdown").add_argument("file", nargs="?", type=Path)
    both = commands.add_parser("compare", help="ratio of ratios of two files")
    both.add_argument("before", type=Path)
    both.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "collect":
        print(collect())
    elif options.command == "compare":
        print(compare(options.before, options.after))
    else:
        for path in [options.file] if options.file else newest():
            print(tables(path))


if __name__ == "__main__":
    main()
