"""Models of Vowpal Wabbit, from the text that `--readable_model` and `--invert_hash` write."""

import math
import re
import shlex
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

import fastlin
from fastlin.features.vw_hasher import VWHasher
from fastlin.interchange.restored import ModelFileLines, fitted, sparse_rows
from fastlin.validation import one_of

LOSSES = "log_loss", "hinge", "squared_error"
CONSTANT = 11650396  # the hash of the feature that is always 1
_WEIGHT = re.compile(r"(?:(.*):)?(\d{1,20}):(\S+)((?: \S+)*)", re.ASCII | re.DOTALL)
_MOST_BITS = 30
_MAX_LABELS = 10_000
# what changes neither columns nor scores once weights are learnt
_HARMLESS = {"--sgd", "--adaptive", "--normalized", "--invariant", "--ftrl", "--pistol", "--coin", "--bfgs",
             "--freegrad", "--conjugate_gradient", "--binary", "--save_resume", "--probabilities"}  # fmt: skip
_WITH_VALUE = {"--hash", "--hash_seed", "--link", "--oaa", "--bit_precision", "--loss_function", "--indexing"}
_LINKS = "identity", "logistic"


def read_vw(path: Any, *, loss: Any = None) -> Pipeline:
    """A readable model of Vowpal Wabbit as a pipeline of VWHasher and a linear model with the same weights.

    It reads the dicts that `fastlin.data.read` makes of files of Vowpal Wabbit's format, and scores them as VW does, as
    near as the six digits that are written of a weight allow. The constant is the intercept. `--oaa` is one model a
    label, from "1" on, or from "0" where the file has `--indexing 0`; labels are strings, as in files.

    Parameters
    ----------
    path : str or path
        What `--readable_model` or `--invert_hash` wrote. Of options it may have `--noconstant`, `--hash`,
        `--hash_seed`, `-b`, `--oaa`, `--indexing`, `--link` and those of the learning rule; interactions, n-grams and
        other reductions make features that are not in the file, and are refused.
    loss : {None, "log_loss", "hinge", "squared_error"}
        What was learnt, which the file does not say: LogisticRegression, LinearSVC or LinearSVR. None: the first where
        the bounds of labels are those of the logistic loss, ±50, or there are several labels; else the last.

    Returns
    -------
    Pipeline
        Of two labels, "-1" and "1". A regression is not clipped to the labels that were seen, as VW's is.

    Raises
    ------
    ModelFileError
        The file is cut short before its weights, has an option that is not known, or a weight that is no finite number
        or has no place.
    OSError
        It cannot be read.
    """
    chosen = None if loss is None else one_of("loss", loss, LOSSES)
    lines = ModelFileLines(path)
    header, options = _header(lines)
    n_labels = lines.whole(options.get("--oaa", "1"), "--oaa", 1, _MAX_LABELS)
    n_places = 1 << (n_labels - 1).bit_length()  # of a feature: VW rounds up
    n_columns = (1 << header["bits"]) // n_places
    if n_columns < 1:
        lines.refuse(f"{header['bits']} bits have no room for {n_labels} labels")
    rows = _weights(lines, n_labels, n_places, n_columns)
    has_constant = "--noconstant" not in options
    place = CONSTANT & (n_columns - 1)
    intercept = np.array([row.get(place, 0.0) if has_constant else 0.0 for row in rows])
    columns = [sorted(row) for row in rows]
    values = [[row[column] for column in chosen_] for row, chosen_ in zip(rows, columns, strict=True)]
    weights = sparse_rows(columns, values, n_columns)
    seed = lines.whole(options.get("--hash_seed", "0"), "--hash_seed", 0, 2**32 - 1)
    hashed: Any = options.get("--hash", "strings")
    if hashed not in ("strings", "all"):
        lines.refuse(f"--hash must be strings or all, got {hashed!r:.60}")
    if options.get("--link", "identity") not in _LINKS:
        lines.refuse(f"--link must be one of {', '.join(_LINKS)}, got {options['--link']!r:.60}")
    hasher = VWHasher(n_columns, hash_seed=seed, hash=hashed)
    kind = chosen or _loss(header, n_labels)
    first = lines.whole(options.get("--indexing", "1"), "--indexing", 0, 1)
    names = [str(label) for label in range(first, first + n_labels)] if n_labels > 1 else ["-1", "1"]
    return Pipeline([("features", hasher), ("model", _model(kind, lines, weights, intercept, np.array(names)))])


def _loss(header: dict[str, Any], n_labels: int) -> str:
    """The loss that the bounds of labels speak of."""
    logistic = n_labels > 1 or (header["low"], header["high"]) == (-50.0, 50.0)
    return "log_loss" if logistic else "squared_error"


def _model(loss: str, lines: ModelFileLines, weights: Any, intercept: Any, names: NDArray[np.str_]) -> Any:
    n_labels = len(intercept)
    if loss == "squared_error":
        if n_labels > 1:
            lines.refuse_file("loss='squared_error' is of one model, and this file has several labels")
        regression = fastlin.LinearSVR(loss="squared_epsilon_insensitive")
        return fitted(regression, lines, weights, intercept=intercept, n_targets=1, one_intercept=True)
    multi_class: Any = {"multi_class": "ovr"} if n_labels > 1 else {}
    model: Any = fastlin.LogisticRegression(**multi_class) if loss == "log_loss" else fastlin.LinearSVC()
    if n_labels == 1:
        return fitted(model, lines, weights, intercept=intercept, classes=names)
    order = np.argsort(names)
    if n_labels == 2:
        lines.refuse_file("--oaa 2 has two models where one of both labels is read: train with the labels -1 and 1")
    return fitted(model, lines, weights[order], intercept=intercept[order], classes=names[order])


def _header(lines: ModelFileLines) -> tuple[dict[str, Any], dict[str, str]]:
    """Bits, bounds of labels and options; the line before the weights is read."""
    header: dict[str, Any] = {}
    options: dict[str, str] = {}
    first = lines.next_line("the version")
    if not first.startswith("Version "):
        lines.refuse(f"{first!r:.60} is not how a readable model begins")
    while not (line := lines.next_line("the checksum")).startswith("Checksum:"):
        name, _, text = line.partition(":")
        if name == "bits":
            header["bits"] = lines.whole(text, name, 1, _MOST_BITS)
        elif name in ("Min label", "Max label"):
            header["low" if name == "Min label" else "high"] = lines.real(text, name)
        elif name == "options":
            options = _options(lines, text)
        elif name == "lda" and text != "0":
            lines.refuse("--lda makes topics, which are no linear model")
        elif name.endswith((" ngram", " skip")) and not name.startswith("0 "):
            lines.refuse(f"{line!r:.60}: features of several words are not in the file")
        elif name not in ("lda", "0 ngram", "0 skip") and not name.startswith("Id"):
            lines.refuse(f"{line!r:.60} is no line of a readable model")
    for name in ("bits", "low", "high"):
        if name not in header:
            lines.refuse(
                f"{ {'low': 'Min label', 'high': 'Max label'}.get(name, name) } is missing before the checksum"
            )
    return header, options


def _options(lines: ModelFileLines, text: str) -> dict[str, str]:
    """Options by name, each known."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        lines.refuse(f"options: {error}")
    options: dict[str, str] = {}
    while words:
        name, _, value = words.pop(0).partition("=")
        if name == "-b":
            name = "--bit_precision"
        if name in _WITH_VALUE:
            options[name] = value or (words.pop(0) if words else "")
        elif name == "--noconstant" or name in _HARMLESS:
            options[name] = ""
        else:
            lines.refuse(f"the option {name!r:.60} makes other features or scores than the weights of this file say")
    return options


def _weights(lines: ModelFileLines, n_labels: int, n_places: int, n_columns: int) -> list[dict[int, float]]:
    """The weights of each label by column, as predictions take them.

    What `--l1` and `--l2` have shrunk lazily is due: every weight comes nearer to 0 by l1_state, and times l2_state.
    """
    rows: list[dict[int, float]] = [{} for _ in range(n_labels)]
    begun, threshold, scale = False, 0.0, 1.0
    for line in lines:
        if not line.strip() or line.startswith(":"):
            continue
        match = _WEIGHT.fullmatch(line)
        if match is None:
            name, _, text = line.rpartition(" ")
            if begun or not name:
                lines.refuse(f"{line!r:.60} is no weight")
            if name == "l1_state":
                threshold = lines.real(text, name)
            if name == "l2_state":
                scale = lines.real(text, name)
            continue
        begun = True
        place = lines.whole(match[2], "the place of a weight", 0, n_columns * n_places - 1)
        column, label = divmod(place, n_places)
        if label >= n_labels:
            lines.refuse(f"place {place} is of label {label + 1}, and there are {n_labels}")
        if column in rows[label]:
            lines.refuse(f"place {place} has a weight already")
        weight = lines.real(match[3], f"the weight at {place}")
        rows[label][column] = scale * math.copysign(max(0.0, abs(weight) - threshold), weight)
    return rows
