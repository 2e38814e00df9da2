"""What are the words of the Penn sample, their tags, and the names among them?

The sample is bracketed, a tree a line; traces (-NONE-) are left out. A name is a run of tokens whose tags are NNP or
NNPS, all in one phrase. Its type is told by the function tag of the nearest phrase about it that has one of -TMP, -LOC
or -DIR: "time", "place", and "name" where there is none: "Mr. Vinken" is a name, "Monday" a time, and "New York" a
place in a phrase that says where, but a name elsewhere.
"""

from __future__ import annotations

from common import read  # before numpy: it sets the threads

# isort: split
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

TOKEN = re.compile(r"\(\s*([^\s()]*)|\)|([^\s()]+)")
NAMES = {"NNP", "NNPS"}
TYPES = {"TMP": "time", "LOC": "place", "DIR": "place"}


@dataclass(frozen=True)
class Leaf:
    """A word, its tag, the number of the phrase that it is in, and the type that a name there has."""

    word: str
    tag: str
    phrase: int
    type: str


def leaves(tree: str) -> Iterator[Leaf]:
    """The words of a bracketed tree."""
    open_phrases: list[tuple[str, int]] = []
    for number, found in enumerate(TOKEN.finditer(tree)):
        label, word = found.groups()
        if label is not None:
            open_phrases.append((label, number))
        elif word is None:
            open_phrases.pop()
        elif open_phrases[-1][0] != "-NONE-":
            above = open_phrases[:-1]
            functions = [part for label, _ in reversed(above) for part in label.split("-")[1:]]
            kind = next((TYPES[function] for function in functions if function in TYPES), "name")
            yield Leaf(word, open_phrases[-1][0], above[-1][1], kind)


def trees() -> list[list[Leaf]]:
    found = [list(leaves(tree)) for (tree,) in read("treebank", "trees.mrg.gz")]
    return [tree for tree in found if tree]


def name_labels(tree: list[Leaf]) -> list[str]:
    """For each word whether a name starts (B-), goes on (I-), or there is none (O)."""
    labels = []
    for (is_name, _), run in groupby(tree, key=lambda leaf: (leaf.tag in NAMES, leaf.phrase)):
        for place, leaf in enumerate(run):
            labels.append(f"{'I' if place else 'B'}-{leaf.type}" if is_name else "O")
    return labels
