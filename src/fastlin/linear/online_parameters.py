"""The parameters that online learners share, and the rule that follows from them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.online import online
from fastlin.optim.update_rules import ADAGRAD, FTRL, PEGASOS, make_rule
from fastlin.validation.parameter_kinds import (
    ABSENT,
    BOOL,
    CLASS_WEIGHT,
    DTYPE,
    RUN,
    TRUTH,
    Integer,
    ParameterTable,
    Real,
)

SPARSE_INTERCEPT_DECAY = 0.01  # scikit-learn's
DECAY: ParameterTable = {"intercept_decay": Real(above=0, at_most=1) | ABSENT}
ONLINE: ParameterTable = RUN | {
    "fit_intercept": TRUTH, "max_iter": Integer(at_least=1),
    "tol": Real(at_least=0) | ABSENT, "shuffle": TRUTH, "early_stopping": TRUTH,
    "validation_fraction": Real(above=0, below=1), "n_iter_no_change": Integer(at_least=1),
    "warm_start": TRUTH, "average": BOOL | Integer(at_least=0),
    "dtype": DTYPE | ABSENT, "grow_features": TRUTH,
}  # fmt: skip
ONLINE_CLASSIFIER: ParameterTable = ONLINE | {"class_weight": CLASS_WEIGHT}


def online_rule(model: Any, fields: dict[str, Any], dtype: np.dtype[Any], dense: bool) -> NDArray[Any]:
    """The rule of an online learner, every parameter checked; `fields` are those that its kind of step decides.

    `dense` says whether the rows came as a dense matrix.
    """
    decay = getattr(model, "intercept_decay", 1.0)
    if decay is None:
        decay = 1.0 if dense else SPARSE_INTERCEPT_DECAY
    rule = make_rule(
        dtype,
        fit_intercept=bool(model.fit_intercept),
        intercept_decay=float(decay),
        average_from=int(model.average),
        **fields,
    )
    if model.average and rule["l1"] > 0 and rule["step"] != FTRL:
        raise ValueError(
            "average together with an L1 penalty has no exact lazy form; use penalty='l2', average=False, or "
            "learning_rate='ftrl'"
        )
    return rule


def check_rate(rule: NDArray[Any], t: int, n_rows: int) -> None:
    """ηλ₂ ≥ 1 would turn the weights round; only Pegasos's first step, where it is 1, is meant to forget them."""
    t += max(1, min(int(rule["batch_size"][0]), n_rows))
    shrinkage = online.learning_rate(rule, t) * rule["l2"][0]
    forgets = rule["schedule"] == PEGASOS and t == 1
    if rule["step"] not in (ADAGRAD, FTRL) and shrinkage >= 1 and not forgets:
        raise ValueError(
            f"the learning rate at t = {t} times the L2 penalty is {shrinkage:g}; it must stay below 1: "
            "lower eta0 or alpha"
        )
