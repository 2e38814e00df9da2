"""The parameters of SGD's classifier and the rule that follows from them, for which no scikit-learn is needed."""

import math
from typing import Any, ClassVar, Literal

from fastlin.linear.online_parameters import DECAY, ONLINE_CLASSIFIER
from fastlin.losses import CODES, LOSS_FUNCTIONS
from fastlin.optim.update_rules import GRADIENT, MIN_FTRL_RATE, SCHEDULES, STEPS
from fastlin.validation import real_number
from fastlin.validation.choices import ClassifierLoss, LearningRate, Sampling, WeightPenalty
from fastlin.validation.parameter_kinds import ABSENT, TRUTH, Integer, OneOf, ParameterTable, Real

LOSSES = tuple(LOSS_FUNCTIONS)
SAMPLINGS = ("shuffle", "replace", "order")
PENALTY: ParameterTable = {
    "penalty": OneOf("l2", "l1", "elasticnet", None), "alpha": Real(at_least=0, at_most=1e100),
    "l1_ratio": Real(at_least=0, at_most=1) | ABSENT, "eta0": Real(above=0, at_most=1e100),
}  # fmt: skip
STEPWISE: ParameterTable = PENALTY | {
    "eta0": Real(at_least=0, at_most=1e100), "epsilon": Real(at_least=0, at_most=1e100),
    "sampling": OneOf(*SAMPLINGS) | ABSENT,
    "learning_rate": OneOf(*SCHEDULES), "power_t": Real(at_least=0, at_most=100), "batch_size": Integer(at_least=1),
}  # fmt: skip


def penalties(penalty: Any, alpha: Any, l1_ratio: Any) -> dict[str, float]:
    """λ, λ₁ and λ₂ from scikit-learn's parameters."""
    if l1_ratio is None and penalty == "elasticnet":
        raise ValueError("l1_ratio must be set when penalty is 'elasticnet': a number from 0 to 1; got None")
    alpha, share = float(alpha), l1_ratio if penalty == "elasticnet" else float(penalty == "l1")
    return {"alpha": alpha, "l1": alpha * share, "l2": alpha * (1 - share) if penalty is not None else 0.0}


def step_fields(model: Any, margin_loss: str) -> dict[str, Any]:
    """The fields of the Rule that the parameters of an SGD learner decide; PA's steps have one loss."""
    rate, fields, offset = model.learning_rate, penalties(model.penalty, model.alpha, model.l1_ratio), 0.0
    if rate in ("optimal", "pegasos") and fields["alpha"] == 0:
        raise ValueError(f"learning_rate={rate!r} divides by alpha, which is 0; choose another rate")
    if rate in ("pa1", "pa2") and (model.loss != margin_loss or model.batch_size > 1):
        raise ValueError(f"learning_rate={rate!r} is a step for one row of loss={margin_loss!r}, with batch_size=1")
    least = MIN_FTRL_RATE if rate == "ftrl" else -math.inf
    unused = rate in ("optimal", "pegasos")  # until 1.7, scikit-learn's default was 0 there
    if rate == "optimal":
        offset = 1 / (math.sqrt(1 / math.sqrt(fields["alpha"])) * fields["alpha"])
    return {
        **fields,
        "loss": CODES[model.loss],
        "step": STEPS.get(rate, GRADIENT),
        "schedule": SCHEDULES[rate],
        "offset": offset,
        "eta0": real_number("eta0", model.eta0, above=-1 if unused else 0, at_least=least, at_most=1e100),
        "C": float(model.eta0),
        "power": float(model.power_t),
        "batch_size": int(model.batch_size),
        "epsilon": float(model.epsilon),
    }


OF_ALL_LABELS = ("hinge", "log_loss", "squared_hinge", "perceptron")  # what "auto" takes for one model


class SGDParameters:
    """The parameters of `SGDClassifier`, which says what they are."""

    _parameters: ClassVar[ParameterTable] = ONLINE_CLASSIFIER | DECAY | STEPWISE | {
        "loss": OneOf(*LOSSES), "multi_class": OneOf("auto", "multinomial", "ovr"), "project": TRUTH,
    }  # fmt: skip

    def __init__(
        self,
        loss: ClassifierLoss = "hinge",
        *,
        penalty: WeightPenalty | None = "l2",
        alpha: float = 1e-4,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        multi_class: Literal["auto", "multinomial", "ovr"] = "auto",
        intercept_decay: float | None = None,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        sampling: Sampling | None = None,
        verbose: int = 0,
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: LearningRate = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        project: bool = False,
        batch_size: int = 1,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: bool | int = False,
        dtype: Any = None,
        callback: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.intercept_decay = intercept_decay
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.sampling = sampling
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.project = project
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average
        self.dtype = dtype
        self.callback = callback
        self.grow_features = grow_features

    @property
    def _one_vs_rest(self) -> bool:
        """Whether each label against the rest is a model of its own."""
        return self.multi_class == "ovr" or (self.multi_class == "auto" and self.loss not in OF_ALL_LABELS)

    def _rule(self) -> dict[str, Any]:
        fields = step_fields(self, "hinge")
        if self.project and self.learning_rate != "pegasos":
            raise ValueError("project=True belongs to learning_rate='pegasos'")
        if self.project and self._one_vs_rest:
            raise ValueError(
                "project=True bounds the weights of all labels together; use multi_class='multinomial', and labels of "
                "which each row has one"
            )
        if self.project and fields["l1"] > 0:
            raise ValueError("project=True together with an L1 penalty has no exact lazy form; use penalty='l2'")
        return {**fields, "project": bool(self.project), "one_vs_rest": self._one_vs_rest}
