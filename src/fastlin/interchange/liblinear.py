"""Model files of LIBLINEAR: a header of words, then the weights, a line for each feature.

A line has the weight of each label, in the order of `label`; of two labels but under Crammer and Singer's loss one, of
the first label against the second. With `bias` B ≥ 0 there is a line more, the weights of a feature that is always B.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastlin
from fastlin.interchange.restored import ModelFileLines, fitted
from fastlin.validation import MAX_COLUMNS

_LOGISTIC = {"L2R_LR": "l2", "L2R_LR_DUAL": "l2", "L1R_LR": "l1"}
_MACHINES: dict[str, dict[str, Any]] = {
    "L2R_L2LOSS_SVC_DUAL": {}, "L2R_L2LOSS_SVC": {"dual": False}, "L2R_L1LOSS_SVC_DUAL": {"loss": "hinge"},
    "MCSVM_CS": {"multi_class": "crammer_singer"}, "L1R_L2LOSS_SVC": {"penalty": "l1", "dual": False},
}  # fmt: skip
_REGRESSIONS: dict[str, dict[str, Any]] = {
    "L2R_L2LOSS_SVR": {"loss": "squared_epsilon_insensitive", "dual": False},
    "L2R_L2LOSS_SVR_DUAL": {"loss": "squared_epsilon_insensitive"}, "L2R_L1LOSS_SVR_DUAL": {},
}  # fmt: skip
_SOLVERS = (*_LOGISTIC, *_MACHINES, *_REGRESSIONS)
_MAX_LABEL = 2**31 - 1  # LIBLINEAR's labels are C's ints


def read_liblinear(path: Any) -> Any:
    """A model file of LIBLINEAR as a LogisticRegression, LinearSVC or LinearSVR with the same weights.

    Decision values, probabilities, labels and predictions are LIBLINEAR's. Labels are whole numbers, sorted; where two
    scores are the same, the first of the sorted labels is predicted, and LIBLINEAR's is the first of its own order. The
    parameters name the loss and the penalty; C, which the file does not have, is the default.

    Parameters
    ----------
    path : str or path
        What `train` or `save_model` wrote, of the solvers 0 to 7 and 11 to 13.

    Returns
    -------
    LogisticRegression, LinearSVC or LinearSVR

    Raises
    ------
    ModelFileError
        The file is cut short, its counts do not fit, a number is none or not finite, or it is of a solver that has no
        counterpart (21, one class).
    OSError
        It cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> from fastlin.interchange import read_liblinear
    >>> path = os.path.join(tempfile.mkdtemp(), "model")
    >>> with open(path, "w") as file:
    ...     _ = file.write("solver_type L2R_LR\\nnr_class 2\\nlabel 1 -1\\nnr_feature 2\\nbias -1\\nw\\n0.5\\n-2\\n")
    >>> model = read_liblinear(path)
    >>> model.predict([[1, 0], [0, 1]]).tolist(), model.coef_.tolist()
    ([1, -1], [[0.5, -2.0]])
    """
    lines = ModelFileLines(path)
    header = _header(lines)
    solver, n_labels, n_features = header["solver_type"], header["nr_class"], header["nr_feature"]
    one_column = n_labels == 2 and solver != "MCSVM_CS"
    bias = header["bias"]
    table = _weights(lines, n_features + (bias >= 0), 1 if one_column else n_labels)
    coef, intercept = table[:n_features], bias * table[n_features] if bias >= 0 else np.zeros(table.shape[1])
    if solver in _REGRESSIONS:
        model: Any = fastlin.LinearSVR(**_REGRESSIONS[solver], fit_intercept=bias >= 0)
        model = fitted(model, lines, coef, intercept=intercept, n_targets=1, one_intercept=True)
    else:
        order = np.argsort(header["label"])
        if n_labels == 2:  # a score above 0 is the first label's there, the second's here
            sign = 1.0 if order[0] == 1 else -1.0
            coef, intercept = sign * coef[:, :1], sign * intercept[:1]
        else:
            coef, intercept = coef[:, order], intercept[order]
        classes = np.array(header["label"])[order]
        model = fitted(_classifier(solver, n_labels, bias), lines, coef, intercept=intercept, classes=classes)
    model.svmlight_first_index_ = 1
    return model


def _classifier(solver: str, n_labels: int, bias: float) -> Any:
    """A model with the loss, the penalty and the treatment of labels of a solver."""
    if solver in _MACHINES:
        return fastlin.LinearSVC(**_MACHINES[solver], fit_intercept=bias >= 0)
    multi_class: Any = {"multi_class": "ovr"} if n_labels > 2 else {}
    l1: Any = {"l1_ratio": 1.0} if _LOGISTIC[solver] == "l1" else {}
    return fastlin.LogisticRegression(fit_intercept=bias >= 0, **l1, **multi_class)


def _header(lines: ModelFileLines) -> dict[str, Any]:
    """What stands before the weights, proved; the line "w" is read."""
    found: dict[str, Any] = {}
    while (line := lines.next_line("w, the weights,")).strip() != "w":
        name, _, text = line.strip().partition(" ")
        if name in found:
            lines.refuse(f"{name} for the second time")
        if name == "solver_type":
            if text not in _SOLVERS:
                lines.refuse(f"the solver {text!r:.60} has no counterpart here; there are {', '.join(_SOLVERS)}")
            found[name] = text
        elif name == "nr_class":
            found[name] = lines.whole(text, name, 2, _MAX_LABEL)
        elif name == "nr_feature":
            found[name] = lines.whole(text, name, 1, MAX_COLUMNS)
        elif name == "bias":
            found[name] = lines.real(text, name)
        elif name == "label":
            found[name] = [lines.whole(each, name, -_MAX_LABEL - 1, _MAX_LABEL) for each in text.split()]
        else:
            lines.refuse(f"{name!r:.60} is no word of a header of LIBLINEAR's")
    wanted = ["solver_type", "nr_class", "nr_feature", "bias"]
    if found.get("solver_type") not in _REGRESSIONS:
        wanted.append("label")
    for name in wanted:
        if name not in found:
            lines.refuse(f"{name} is missing before the weights")
    labels = found.get("label")
    if labels is not None and (len(labels) != found["nr_class"] or len(set(labels)) < len(labels)):
        lines.refuse(f"label must name {found['nr_class']} different labels, as nr_class says, got {len(labels)}")
    if labels is None and found["nr_class"] != 2:
        lines.refuse(f"nr_class of a regression is 2, got {found['nr_class']}")
    return found


def _weights(lines: ModelFileLines, n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """So many lines of so many numbers, and nothing behind them."""
    rows = []
    for row in range(n_rows):
        words = lines.next_line(f"the weights of feature {row + 1} of {n_rows}").split()
        if len(words) != n_columns:
            lines.refuse(f"feature {row + 1} must have {n_columns} weights, got {len(words)}")
        rows.append(np.array([lines.real(word, f"a weight of feature {row + 1}") for word in words]))
    if not lines.is_over():
        next(lines)
        lines.refuse(f"there is more behind the weights of {n_rows} features")
    return np.array(rows)
