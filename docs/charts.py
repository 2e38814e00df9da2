"""Charts of what `make bench` has measured: how many times as long as fastlin another program takes.

`bench/timing.py` writes results/NAME.json, nested lists and dicts. An entry with a question has seconds for each side:
{"question": …, "seconds": {"ours": …, "scikit-learn": …}}, or {"question": …, "ours": {"whole": …, "further": …}, …}
with the seconds of an epoch. Sides that are fastlin's are called ours.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

BAR_INCHES = 0.28


class Ratio(NamedTuple):
    """Seconds of another program by those of fastlin, on a question."""

    label: str
    value: float


def draw_charts(results: Path, folder: Path) -> list[str]:
    """Draw a chart of each file of results that has ratios; the names of the charts."""
    drawn = []
    for path in sorted(results.glob("*.json")):
        found = list(ratios_of(json.loads(path.read_text(encoding="utf-8"))["results"]))
        if found:
            folder.mkdir(parents=True, exist_ok=True)
            draw(found, path.stem, folder / f"{path.stem}.svg")
            drawn.append(path.stem)
    return drawn


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
    sides = entry.get("seconds") or {
        name: each["further"] for name, each in entry.items() if isinstance(each, dict) and "further" in each
    }
    own = {name: seconds for name, seconds in sides.items() if name.startswith("ours")}
    others = {name: seconds for name, seconds in sides.items() if name not in own and seconds}
    for name, seconds in others.items():
        kind = name.rpartition(" ")[2]  # float32 is held against float32
        ours = own.get(f"ours {kind}") or next(iter(own.values()), None)
        if ours:
            other = "" if name == "rival" else f", {name}"
            yield Ratio(f"{place}: {entry['question']}{other}", seconds / ours)


def draw(ratios: list[Ratio], title: str, path: Path) -> None:
    """Bars on a logarithmic axis, the longest on top; left of the line at 1 the other program is faster."""
    import matplotlib.figure

    ratios = sorted(ratios, key=lambda each: each.value)
    figure = matplotlib.figure.Figure(figsize=(9, 1.2 + BAR_INCHES * len(ratios)), layout="constrained")
    axes = figure.subplots()
    colours = ["tab:blue" if each.value >= 1 else "tab:orange" for each in ratios]
    bars = axes.barh([each.label for each in ratios], [each.value - 1 for each in ratios], left=1, color=colours)
    axes.bar_label(bars, [f"{each.value:.2g}" for each in ratios], padding=3)
    axes.set(xscale="log", xlabel="seconds of the other program ÷ seconds of fastlin", title=title)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.margins(x=0.12, y=0.01)
    figure.savefig(path, metadata={"Date": None})
