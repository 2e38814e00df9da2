"""Charts of what the benchmarks have found: how many times as long as fastlin another program takes.

`bench/report.py collect` writes results/COMMIT-MACHINE.json, {"ratios": {script: {question: ratio}}}; of each machine
the latest commit is drawn, a chart for each script.
"""

import json
from pathlib import Path

BAR_INCHES = 0.28


def draw_charts(files: list[Path], folder: Path) -> list[str]:
    """Draw a chart of each script in files of ratios; the names of the charts."""
    drawn = []
    for path in files:
        machine = path.stem.partition("-")[2]
        for script, ratios in json.loads(path.read_text(encoding="utf-8"))["ratios"].items():
            folder.mkdir(parents=True, exist_ok=True)
            draw(ratios, f"{script}, {machine}", folder / f"{script}-{machine}.svg")
            drawn.append(f"{script}-{machine}")
    return drawn


def draw(ratios: dict[str, float], title: str, path: Path) -> None:
    """Bars on a logarithmic axis, the longest on top; left of the line at 1 the other program is faster."""
    import matplotlib.figure

    labels, values = zip(*sorted(ratios.items(), key=lambda each: each[1]), strict=True)
    figure = matplotlib.figure.Figure(figsize=(9, 1.2 + BAR_INCHES * len(values)), layout="constrained")
    axes = figure.subplots()
    colours = ["tab:blue" if value >= 1 else "tab:orange" for value in values]
    bars = axes.barh(labels, [value - 1 for value in values], left=1, color=colours)
    axes.bar_label(bars, [f"{value:.2g}" for value in values], padding=3)
    axes.set(xscale="log", xlabel="seconds of the other program ÷ seconds of fastlin", title=title)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.margins(x=0.12, y=0.01)
    figure.savefig(path, metadata={"Date": None})
