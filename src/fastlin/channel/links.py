"""Links (i, j) of source word i and observed word j: their text in Pharaoh's format, two directions as one."""

from collections.abc import Callable, Iterable
from numbers import Integral

from fastlin.validation.choices import LinkMethod
from fastlin.validation.parameters import one_of

Link = tuple[int, int]
NEIGHBOURS = (-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)


def _proved(name: str, links: Iterable[Link]) -> list[Link]:
    """Links of one pair of sentences; TypeError: they are something else, such as those of several pairs."""
    found, wanted = [], f"{name} must be the links (i, j) of one pair of sentences"
    if isinstance(links, str | bytes) or not isinstance(links, Iterable):
        raise TypeError(f"{wanted}, got {links!r:.60}")
    for link in links:
        if not isinstance(link, tuple | list) or len(link) != 2 or not all(isinstance(end, Integral) for end in link):
            raise TypeError(f"{wanted}, got {link!r:.60} among them")
        found.append((int(link[0]), int(link[1])))
    return found


def write_links(links: Iterable[Link]) -> str:
    """Links of one pair of sentences in Pharaoh's format: "0-0 1-2".

    Parameters
    ----------
    links : iterable of (int, int)
        Places of a source word and of an observed one, from 0 on.

    Returns
    -------
    str
        One line, without its end.
    """
    return " ".join(f"{i}-{j}" for i, j in _proved("links", links))


def read_links(text: str) -> list[Link]:
    """Links of one pair of sentences, a line in Pharaoh's format; ValueError names the one that is none.

    Parameters
    ----------
    text : str
        A line such as "0-0 1-2"; an empty one has no links.

    Returns
    -------
    list of (int, int)
        Places of a source word and of an observed one, in the order of the line.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, the links of one pair of sentences, got {text!r:.60}")
    found = []
    for link in text.split():
        i, hyphen, j = link.partition("-")
        if not (hyphen and i.isdecimal() and j.isdecimal()):
            raise ValueError(f"a link must be i-j, two numbers, got {link!r:.60}")
        found.append((int(i), int(j)))
    return found


def symmetrize(
    forward: Iterable[Link],
    backward: Iterable[Link],
    method: LinkMethod = "grow-diag-final-and",
) -> list[Link]:
    """Links of a pair of sentences by channels in both directions, as one (Och & Ney 2003; Koehn, Och & Marcu 2003).

    Parameters
    ----------
    forward : list of (i, j)
        Of the channel from the one language to the other: each j has one i at most.
    backward : list of (i, j)
        Of the channel in the other direction, its links turned round: each i has one j at most.
    method : {"intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"}
        "grow-diag" begins with the intersection, and takes neighbours from the union while these link a word that has
        no link; "final" adds links of the union of which one word has none, "final-and" those of which neither has.

    Returns
    -------
    list of (i, j)
        In order.

    Examples
    --------
    >>> from fastlin.channel import symmetrize
    >>> symmetrize([(0, 0), (1, 1), (1, 2)], [(0, 0), (1, 2)], "intersection")
    [(0, 0), (1, 2)]
    """
    method = one_of("method", method, list(METHODS))
    one, other = set(_proved("forward", forward)), set(_proved("backward", backward))
    return sorted(METHODS[method](one, other))


def _grow_diag(one: set[Link], other: set[Link]) -> set[Link]:
    """The intersection, and what of the union is beside it and links a word that has no link."""
    links, union = one & other, one | other
    linked_i, linked_j = {i for i, _ in links}, {j for _, j in links}
    waiting = sorted(links)
    while waiting:
        added = []
        for i, j in waiting:
            for down, right in NEIGHBOURS:
                link = i + down, j + right
                if link in union and link not in links and (link[0] not in linked_i or link[1] not in linked_j):
                    links.add(link)
                    linked_i.add(link[0])
                    linked_j.add(link[1])
                    added.append(link)
        waiting = sorted(added)
    return links


def _final(one: set[Link], other: set[Link], wanted: Callable[[bool, bool], bool]) -> set[Link]:
    """`_grow_diag`, and links of each direction that `wanted` allows, by whether their words have none."""
    links = _grow_diag(one, other)
    linked_i, linked_j = {i for i, _ in links}, {j for _, j in links}
    for direction in (one, other):
        for i, j in sorted(direction - links):
            if wanted(i not in linked_i, j not in linked_j):
                links.add((i, j))
                linked_i.add(i)
                linked_j.add(j)
    return links


METHODS: dict[str, Callable[[set[Link], set[Link]], set[Link]]] = {
    "intersection": set.__and__,
    "union": set.__or__,
    "grow-diag": _grow_diag,
    "grow-diag-final": lambda one, other: _final(one, other, lambda i, j: i or j),
    "grow-diag-final-and": lambda one, other: _final(one, other, lambda i, j: i and j),
}
