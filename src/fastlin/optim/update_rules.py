"""The rule of an online run and its clock, as the kernels know them: which loss, which step, which schedule."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The structs of engine/online/update_rules.pxd, field by field.
RULE = np.dtype(
    [(name, np.int64) for name in ("loss", "step", "schedule", "fit_intercept", "project", "batch_size")]
    + [("average_from", np.int64)]
    + [(name, np.float64) for name in ("eta0", "power", "offset", "alpha", "l1", "l2", "C", "cancellation", "reach")]
    + [("intercept_decay", np.float64), ("one_vs_rest", np.int64), ("epsilon", np.float64)]
)
CLOCK = np.dtype(
    [(name, np.int64) for name in ("t", "steps", "averaged", "generation", "updates", "mistakes")]
    + [(name, np.float64) for name in ("loss", "scale", "mass", "debt", "norm", "reach")]
)
GENERATION = np.dtype([(name, np.float64) for name in ("scale", "mass", "debt")])

GRADIENT, PASSIVE_AGGRESSIVE, PASSIVE_AGGRESSIVE_SQUARED, MIRA, ADAGRAD, FTRL, AROW = range(7)
STEPS = {"adagrad": ADAGRAD, "ftrl": FTRL, "pa1": PASSIVE_AGGRESSIVE, "pa2": PASSIVE_AGGRESSIVE_SQUARED}
CONSTANT, OPTIMAL, INVSCALING, INVERSE, PEGASOS = range(5)
SCHEDULES = {
    "constant": CONSTANT,
    "adaptive": CONSTANT,
    "adagrad": CONSTANT,
    "ftrl": CONSTANT,
    "pa1": CONSTANT,
    "pa2": CONSTANT,
    "optimal": OPTIMAL,
    "invscaling": INVSCALING,
    "inverse": INVERSE,
    "pegasos": PEGASOS,
}

# Schedules like 1/t stay below for ever, as the ratio grows with log t; a constant rate starts a generation every
# 5/(ηλ) steps.
CANCELLATION = 32.0
WEIGHT_BOUND = {np.dtype(np.float64): 1e290, np.dtype(np.float32): 1e37}
FTRL_WEIGHT_BOUND, MIN_FTRL_RATE = 1e120, 1e-50  # the largest weight and the least η₀: θ√Σg²/η₀ stays a number


def make_rule(dtype: np.dtype[Any], **fields: Any) -> NDArray[Any]:
    """A Rule with these fields; the others are 0, or what every run of weights of this type has."""
    rule = np.zeros(1, RULE)
    reach = min(WEIGHT_BOUND[dtype], FTRL_WEIGHT_BOUND) if fields.get("step") == FTRL else WEIGHT_BOUND[dtype]
    common = {"batch_size": 1, "intercept_decay": 1.0, "cancellation": CANCELLATION, "reach": reach}
    for field, value in (common | fields).items():
        rule[field] = value
    return rule
