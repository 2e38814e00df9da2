"""Types of the records that fits keep: an entry of `history_`, and `certificate_`. A fit has some of the fields."""

from typing import TypedDict


class FitRecord(TypedDict, total=False):
    """What a fit says of itself after an iteration, an epoch or a round; `seconds` since it began."""

    iteration: int
    epoch: int
    epochs: int
    passes: int
    seconds: float
    objective: float
    progressive_objective: float
    gradient_norm: float
    duality_gap: float
    gap: float
    dual: float
    active: int
    eta0: float
    loss: float
    updates: int
    wrong: int
    progressive_accuracy: float
    validation_score: float
    val_score: float
    seeded: list[int]
    inertia: float
    smoothed_inertia: float
    changed: int
    movement: float
    relocated: int
    moved: int
    n_features: int
    gain: float
    log_likelihood: float


class FitCertificate(TypedDict, total=False):
    """How near to its minimum an objective is: `duality_gap` bounds the distance, the others are 0 there."""

    objective: float
    dual_objective: float
    duality_gap: float
    gradient_norm: float
    moment_gap: float
    entropy: float
