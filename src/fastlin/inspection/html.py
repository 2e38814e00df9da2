"""HTML of what inspection finds: tables, bars and coloured words for notebooks and reports.

Styles are inline, since notebooks keep no others, and colours are translucent, so that they do on light and on dark
pages. Whatever comes from models or data is escaped, here and nowhere else: a string is text, a `Markup` is HTML.
"""

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

FOR, AGAINST = "33, 102, 172", "178, 24, 43"  # blue and red, which the colour-blind tell apart
BAR = 120  # pixels of the longest bar
_TABLE = '<table style="border-collapse: collapse">'
_CELL = "padding: 1px 8px; border: none; vertical-align: top"


class Markup(str):
    """A string that is HTML already."""

    __slots__ = ()


def escaped(value: Any) -> Markup:
    """A value as text of a page; characters that a page may not hold, as their numbers."""
    if isinstance(value, Markup):
        return value
    text = "".join(each if each.isprintable() or each in "\n\t" else f"\\u{ord(each):04x}" for each in str(value))
    return Markup(html.escape(text, quote=True))


def shade(value: float, largest: float) -> str:
    """The background of a number: blue above 0, red below, the stronger the nearer it is to the largest."""
    if not largest or not value or math.isnan(value):
        return "none"
    share = min(abs(value) / largest, 1.0)
    return f"rgba({FOR if value > 0 else AGAINST}, {0.08 + 0.52 * share:.2f})"


def bar(value: float, largest: float) -> Markup:
    """A bar as long as a number; empty if the largest is 0."""
    share = min(abs(value) / largest, 1.0) if largest and not math.isnan(value) else 0.0
    colour = FOR if value > 0 else AGAINST
    return Markup(
        f'<span style="display: inline-block; height: 0.7em; width: {BAR * share:.0f}px; '
        f'background: rgba({colour}, 0.6)"></span>'
    )


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str = "") -> Markup:
    """A table: numbers to the right, strings to the left."""
    rows = [tuple(row) for row in rows]
    sides = ["right" if rows and _is_number(cell) else "left" for cell in (rows[0] if rows else head)]
    top = "".join(
        f'<th style="{_CELL}; text-align: {side}">{escaped(cell)}</th>' for cell, side in zip(head, sides, strict=False)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    above = f'<caption style="text-align: left; font-weight: bold">{escaped(caption)}</caption>' if caption else ""
    top = f"<thead><tr>{top}</tr></thead>" if top else ""
    return Markup(f"{_TABLE}{above}{top}<tbody>{body}</tbody></table>")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if not _is_number(value):
        return f'<td style="{_CELL}; text-align: left">{escaped("" if value is None else value)}</td>'
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
    return f'<td style="{_CELL}; text-align: right; font-variant-numeric: tabular-nums">{escaped(shown)}</td>'


def heat_map(names: Sequence[Any], cells: Sequence[Sequence[float]], digits: int = 2, corner: str = "") -> Markup:
    """A matrix of numbers, coloured by their size; what is not finite has no colour."""
    largest = max((abs(cell) for row in cells for cell in row if math.isfinite(cell)), default=0.0)
    top = "".join(f'<th style="{_CELL}; white-space: nowrap">{escaped(name)}</th>' for name in (corner, *names))
    body = "".join(
        f'<tr><th style="{_CELL}; text-align: left; white-space: nowrap">{escaped(name)}</th>'
        + "".join(
            f'<td style="{_CELL}; text-align: right; background: {shade(cell, largest)}">'
            f"{escaped(f'{cell:,.{digits}f}')}</td>"
            for cell in row
        )
        + "</tr>"
        for name, row in zip(names, cells, strict=True)
    )
    return Markup(
        f'<table style="border-collapse: collapse"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
    )


def coloured_text(pieces: Iterable[tuple[str, float, str]], largest: float) -> Markup:
    """Pieces of a text, each in the colour of its number and with a word that shows when it is pointed at."""
    parts = [
        escaped(text)
        if not value and not title
        else f'<span title="{escaped(title)}" style="background: {shade(value, largest)}; border-radius: 3px">'
        f"{escaped(text)}</span>"
        for text, value, title in pieces
    ]
    return Markup(f'<p style="white-space: pre-wrap; line-height: 1.6">{"".join(parts)}</p>')


def lines(text: Any) -> Markup:
    """Text whose lines and columns stand as they are."""
    return Markup(f'<pre style="line-height: 1.3">{escaped(text)}</pre>')


def paragraph(text: Any) -> Markup:
    """A line of text."""
    return Markup(f"<p>{escaped(text)}</p>")


def block(*parts: str) -> Markup:
    """Parts one below the other."""
    return Markup(f"<div>{''.join(map(escaped, parts))}</div>")
