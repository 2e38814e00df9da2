"""Drawings of trees as SVG: words in a line below, every constituent above the middle of its children."""

from collections.abc import Sequence
from html import escape

from fastlin.grammar.brackets import Event

LETTER, LEVEL, GAP, MARGIN = 7.5, 46.0, 14.0, 12.0  # pixels: of a letter, a level, between words, around all
STYLE = "font: 13px ui-monospace, monospace; text-anchor: middle"


def svg(events: Sequence[Event]) -> str:
    """The drawing of the tree whose events these are."""
    texts, lines, deepest, right = list[str](), list[str](), 0, MARGIN
    middles: list[list[tuple[float, int]]] = [[]]  # of the children of all that is open: the middle and its level
    for event, value in events:
        level = len(middles) - 1
        deepest = max(deepest, level)
        if event == "open":
            middles.append([])
        elif event == "word":
            width = LETTER * len(value)
            texts.append(_text(right + width / 2, level, value, "#246"))
            middles[-1].append((right + width / 2, level))
            right += width + GAP
        else:
            children = middles.pop()
            middle = (children[0][0] + children[-1][0]) / 2
            texts.append(_text(middle, level - 1, value or "·", "#222"))
            right = max(right, middle + LETTER * len(value) / 2 + GAP)
            lines += [_line(middle, level - 1, x, below) for x, below in children]
            middles[-1].append((middle, level - 1))
    width, height = right + MARGIN, (deepest + 1) * LEVEL
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
    return f'<svg {box} height="{height:.0f}" style="{STYLE}">{"".join(lines)}{"".join(texts)}</svg>'


def _y(level: int) -> float:
    return MARGIN + LEVEL * level


def _text(x: float, level: int, text: str, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{_y(level) + 10:.1f}" fill="{colour}">{escape(text)}</text>'


def _line(x: float, level: int, x_below: float, below: int) -> str:
    ends = f'x1="{x:.1f}" y1="{_y(level) + 14:.1f}" x2="{x_below:.1f}" y2="{_y(below) - 3:.1f}"'
    return f'<line {ends} stroke="#999"/>'
