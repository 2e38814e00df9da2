"""One HTML file about a model: no network, no other files, and no script but its own, which only searches."""

import base64
import hashlib
import math
from collections.abc import Sequence

from fastlin.inspection.html import FOR, Markup, escaped

FEWEST_POINTS = 3  # that are worth a curve
_SCRIPT = """
const box = document.getElementById("search");
box.addEventListener("input", () => {
  const wanted = box.value.toLowerCase();
  let found = 0;
  for (const one of document.querySelectorAll(".entry")) {
    one.hidden = !one.textContent.toLowerCase().includes(wanted);
    found += one.hidden ? 0 : 1;
  }
  document.getElementById("found").textContent = wanted ? found + " found" : "";
});
window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
"""
_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; overflow-wrap: anywhere; }
summary { font-size: 1.15em; font-weight: 600; cursor: pointer; margin: 1em 0 0.4em; }
summary.small { font-size: 1em; font-weight: normal; margin: 0; }
.wide { overflow-x: auto; }
.entry { border-top: 1px solid rgba(128, 128, 128, 0.35); padding: 0.5em 0; overflow-wrap: anywhere; }
.entry[hidden] { display: none; }
table { margin: 0.4em 0; }
input { font: inherit; padding: 0.2em 0.5em; min-width: 20em; }
footer { margin-top: 3em; opacity: 0.7; font-size: 0.9em; }
@media print { body { max-width: none; margin: 0; } input, #found { display: none; } details { break-inside: avoid; } }
"""


class ReportPage:
    """A page that grows section by section.

    Parameters
    ----------
    title : str
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._searchable = False

    def add(self, heading: str, *parts: str) -> None:
        """Add a section, which opens and closes."""
        self._parts.append(
            f"<details open><summary>{escaped(heading)}</summary>"
            f'<div class="wide">{"".join(map(escaped, parts))}</div></details>'
        )

    def add_entries(self, heading: str, note: str, entries: Sequence[Markup]) -> None:
        """Add a section of entries that can be searched for words, with a note above them."""
        self._searchable = True
        found = "".join(f'<div class="entry">{entry}</div>' for entry in entries)
        self._parts.append(
            f"<details open><summary>{escaped(heading)}</summary>"
            f'<p>{escaped(note)}</p><p><input id="search" type="search" aria-label="search" placeholder="search these">'
            f' <span id="found"></span></p>{found}</details>'
        )

    def text(self, footer: str) -> str:
        """The page: nothing but its own script runs, whatever stands in it."""
        digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escaped(self._title)}</title><style>{_STYLE}</style></head>\n"
            f"<body><h1>{escaped(self._title)}</h1>{chr(10).join(self._parts)}"
            f"<footer>{escaped(footer)}</footer>"
            f"{f'<script>{_SCRIPT}</script>' if self._searchable else ''}</body></html>\n"
        )


def folded(heading: str, *parts: str) -> Markup:
    """Parts that show when their heading is clicked."""
    return Markup(
        f'<details><summary class="small">{escaped(heading)}</summary>'
        f'<div class="wide">{"".join(map(escaped, parts))}</div></details>'
    )


def line_chart(points: Sequence[tuple[float, float]], x_name: str, y_name: str) -> Markup:
    """A curve as an SVG, with the bounds of both axes; points that are not finite are left out.

    Of fewer than three points there is none.
    """
    points = [(a, b) for a, b in points if math.isfinite(a) and math.isfinite(b)]
    if len(points) < FEWEST_POINTS:
        return Markup("")
    (left, right), (low, high) = ((min(one), max(one)) for one in zip(*points, strict=True))
    width, height, margin = 560, 200, 80
    path = " ".join(
        f"{margin + (a - left) / ((right - left) or 1) * width:.1f},"
        f"{10 + (high - b) / ((high - low) or 1) * height:.1f}"
        for a, b in points
    )
    labels = [
        (margin - 6, 18, "end", f"{high:.4g}"), (margin - 6, 10 + height, "end", f"{low:.4g}"),
        (margin, height + 28, "start", f"{left:.4g}"), (margin + width, height + 28, "end", f"{right:.4g}"),
        (margin + width / 2, height + 28, "middle", x_name), (margin + width / 2, 18, "middle", y_name),
    ]  # fmt: skip
    texts = "".join(
        f'<text x="{a}" y="{b}" text-anchor="{anchor}" font-size="12" fill="currentColor">{escaped(text)}</text>'
        for a, b, anchor, text in labels
    )
    return Markup(
        f'<svg role="img" width="{width + margin + 20}" height="{height + 40}" xmlns="http://www.w3.org/2000/svg">'
        f'<polyline points="{path}" fill="none" stroke="rgb({FOR})" stroke-width="2"/>{texts}</svg>'
    )
