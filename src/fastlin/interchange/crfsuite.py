"""Models of CRFsuite, from the text that `crfsuite dump` and python-crfsuite's `Tagger.dump` write."""

import re
from typing import Any

import numpy as np

from fastlin.interchange.restored import ModelFileLines, fitted, sparse_rows
from fastlin.sequence import CRF
from fastlin.validation import MAX_COLUMNS

_NUMBERED = re.compile(r" *(\d{1,10}): (.*)", re.ASCII | re.DOTALL)
_WEIGHT = re.compile(r" *\(([01])\) (.*): (\S+)", re.ASCII | re.DOTALL)
_MAX_LABELS = 10_000  # a table of transitions has the square of it
_FROM_LABEL, _FROM_ATTRIBUTE = "1", "0"
_SECTIONS = "LABELS", "ATTRIBUTES", "TRANSITIONS", "STATE_FEATURES"


def read_crfsuite(path: Any) -> CRF:
    """The dump of a model of CRFsuite as a CRF with the same weights.

    Features are named as python-crfsuite names them: {"w": "the"} is "w:the". A dump has six digits behind the point of
    every weight, so scores agree to a millionth for each weight, and labels but for what that decides.

    Parameters
    ----------
    path : str or path
        What `crfsuite dump model` printed, or `Tagger.dump(path)` of python-crfsuite wrote.

    Returns
    -------
    CRF
        Of order 1, without start and stop weights.

    Raises
    ------
    ModelFileError
        The file is cut short, a weight is of no label or feature, twice, or no finite number.
    OSError
        It cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> from fastlin.interchange import read_crfsuite
    >>> path = os.path.join(tempfile.mkdtemp(), "dump.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("LABELS = {\\n  0: N\\n  1: D\\n}\\nATTRIBUTES = {\\n  0: the\\n}\\n")
    ...     _ = file.write("TRANSITIONS = {\\n  (1) D --> N: 2.000000\\n}\\n")
    ...     _ = file.write("STATE_FEATURES = {\\n  (0) the --> D: 1.500000\\n}\\n")
    >>> read_crfsuite(path).predict([[["the"], ["dog"]]])
    [['D', 'N']]
    """
    lines = ModelFileLines(path)
    found: dict[str, Any] = {}
    while not lines.is_over():
        line = lines.next_line("a section")
        name = line.removesuffix(" = {")
        if name == line or name in found:
            lines.refuse(f"{line!r:.60} does not begin a section, or does so for the second time")
        if name == "FILEHEADER":
            _skip_file_header(lines)
            found[name] = {}
        elif name in ("LABELS", "ATTRIBUTES"):
            found[name] = _names(lines, name)
        elif name in ("TRANSITIONS", "STATE_FEATURES") and {"LABELS", "ATTRIBUTES"} <= set(found):
            sources = found["LABELS" if name == "TRANSITIONS" else "ATTRIBUTES"]
            found[name] = _weights(lines, _FROM_LABEL if name == "TRANSITIONS" else _FROM_ATTRIBUTE, sources, found)
        else:
            lines.refuse(f"{name!r:.60} is no section of a dump, or stands before what it needs")
    for name in _SECTIONS:
        if name not in found:
            lines.refuse(f"the file ends without {name}")
    labels = np.array(list(found["LABELS"]), dtype=object)
    order = np.argsort(labels)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    transitions = np.zeros((len(labels), len(labels)))
    for (before, after), weight in found["TRANSITIONS"].items():
        transitions[place[before], place[after]] = weight
    rows: list[dict[int, float]] = [{} for _ in labels]
    for (attribute, label), weight in found["STATE_FEATURES"].items():
        rows[place[label]][attribute] = weight
    columns = [sorted(row) for row in rows]
    values = [[row[column] for column in chosen] for row, chosen in zip(rows, columns, strict=True)]
    weights = sparse_rows(columns, values, len(found["ATTRIBUTES"]))
    return fitted(
        CRF(), lines, weights, transitions=transitions, classes=labels[order].astype(str),
        names=list(found["ATTRIBUTES"]), templates=None,
    )  # fmt: skip


def _skip_file_header(lines: ModelFileLines) -> None:
    """Leave out what a dump says of the file that it was made of."""
    while (line := lines.next_line("the end of FILEHEADER")) != "}":
        if not line.startswith("  "):
            lines.refuse(f"{line!r:.60} is no line of FILEHEADER")


def _names(lines: ModelFileLines, section: str) -> dict[str, int]:
    """The names of a section, numbered from 0 on."""
    names: dict[str, int] = {}
    most = _MAX_LABELS if section == "LABELS" else MAX_COLUMNS
    while (line := lines.next_line(f"the end of {section}")) != "}":
        match = _NUMBERED.fullmatch(line)
        if match is None or int(match[1]) != len(names) or match[2] in names or len(names) >= most:
            lines.refuse(f"{line!r:.60} is not the name that has the number {len(names)} in {section}")
        names[match[2]] = len(names)
    if not names:
        lines.refuse(f"{section} names nothing")
    return names


def _weights(
    lines: ModelFileLines, kind: str, sources: dict[str, int], found: dict[str, Any]
) -> dict[tuple[int, int], float]:
    """The weights of a section by the numbers of a label or feature, and of a label."""
    labels, weights = found["LABELS"], {}
    while (line := lines.next_line("the end of the weights")) != "}":
        match = _WEIGHT.fullmatch(line)
        if match is None or match[1] != kind:
            lines.refuse(f"{line!r:.60} is no weight of this section")
        pair = _pair(match[2], sources, labels)
        if pair is None:
            lines.refuse(f"{match[2]!r:.60} does not lead from a name of the dump to a label")
        if pair in weights:
            lines.refuse(f"{match[2]!r:.60} has a weight already")
        weights[pair] = lines.real(match[3], f"the weight of {match[2]!r:.60}")
    return weights


def _pair(text: str, sources: dict[str, int], labels: dict[str, int]) -> tuple[int, int] | None:
    """The numbers of both sides of an arrow; names may hold arrows, too."""
    start = text.find(" --> ")
    while start >= 0:
        source, label = sources.get(text[:start]), labels.get(text[start + 5 :])
        if source is not None and label is not None:
            return source, label
        start = text.find(" --> ", start + 1)
    return None
