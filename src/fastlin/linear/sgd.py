"""Stochastic gradient descent: any loss, any schedule, lazy and exact penalties."""

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from fastlin.core.multilabel import independent_probabilities
from fastlin.core.sparse_estimator import probabilities
from fastlin.linear.online import OnlineClassifier
from fastlin.linear.online_learner import DECAY
from fastlin.losses import CODES, LOSS_FUNCTIONS, OF_RESIDUALS
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


def _probabilistic(model: "SGDClassifier") -> bool:
    if model.loss not in ("log_loss", "modified_huber"):
        raise AttributeError(
            f"probability estimates are not available for loss={model.loss!r}: take 'log_loss' or 'modified_huber'"
        )
    return True


class SGDClassifier(OnlineClassifier):
    """Linear classification by stochastic gradient descent, truly multiclass.

    Minimises λ₂/2 ‖θ‖² + λ₁ ‖θ‖₁ + (1/n) Σ_i w_i loss(θ; x_i, y_i), the intercept unpenalised. One step takes scores
    with θ_t, then θ ← (1 − ηλ₂)θ − η ∂loss, then θ ← sgn θ·max(0, |θ| − ηλ₁); lazily: an epoch costs O(non-zeros).

    Parameters
    ----------
    loss : {"hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber", \
"epsilon_insensitive", "squared_epsilon_insensitive"}
        For more than two labels, "multinomial": Crammer and Singer's hinge, its square and what goes on straight, the
        softmax's log loss. The last four are `SGDRegressor`'s, of the target ±1, for each label against the rest.
    penalty : {"l2", "l1", "elasticnet", None}
        Which norms of θ the objective has; L1 excludes `average`, but with "ftrl".
    alpha : float
        λ, the strength of the penalty.
    l1_ratio : float or None
        With "elasticnet": λ₁ = λ·l1_ratio, λ₂ = λ·(1 − l1_ratio). None with other penalties only.
    fit_intercept : bool
        Learn b, the weight of a feature that is always 1.
    multi_class : {"auto", "multinomial", "ovr"}
        Of more than two labels: one model of all, in which a row moves its label against those that score too high;
        or, scikit-learn's, a model for each label against the rest, all of them learnt in one pass. "auto" is the first
        for the losses "hinge", "log_loss", "squared_hinge" and "perceptron", and the second for the others.
    intercept_decay : float or None
        The intercept's share of each step but those of "adagrad" and "ftrl", which have rates of their own. It is in
        every row, where other features are rare, and with the whole step it would follow the last labels. None: 0.01
        for sparse rows, 1 for a dense matrix.
    max_iter : int
        Epochs at most.
    tol : float or None
        Stop when the mean loss of an epoch has not fallen by `tol` for `n_iter_no_change` epochs; None: run them all.
    shuffle : bool
        A new order every epoch; False takes the rows as they lie.
    sampling : {None, "shuffle", "replace", "order"}
        The order of an epoch; None follows `shuffle`. "replace" draws rows with replacement.
    verbose : int
        1 prints a line an epoch.
    epsilon : float
        ε of the losses that have one.
    n_jobs : int or None
        Threads for predictions; it never changes a bit of the model.
    random_state : int, RandomState, Generator or None
        The seed of the orders.
    learning_rate : str
        η at instance t: "optimal" 1/(λ(t₀ + t − 1)), "constant" η₀, "invscaling" η₀/t^power_t, "adaptive" η₀ divided
        by 5 when progress stops, "inverse" η₀/(1 + η₀λt), "pegasos" 1/(λt), "adagrad" η₀/√Σg² for each weight. "ftrl":
        the weights are FTRL-Proximal's (McMahan et al. 2013), with η₀/(1 + √Σg²) for each, λ₁ and λ₂ for the whole run.
        "pa1", "pa2": with the hinge loss, the steps of `PassiveAggressiveClassifier`, of which η₀ is the C.
    eta0 : float
        η₀, above 0 where a schedule has it; for "adagrad" and "ftrl" 1.0 works without tuning.
    power_t : float
        The exponent of "invscaling".
    project : bool
        With "pegasos": keep ‖θ‖ ≤ 1/√λ.
    batch_size : int
        Rows whose mean gradient makes one step.
    early_stopping : bool
        Stop by the accuracy on held-out rows, or on `X_val`, `y_val` given to `fit`.
    validation_fraction : float
        The share of the rows that `early_stopping` holds out.
    n_iter_no_change : int
        Epochs without progress that end a fit.
    class_weight : dict, "balanced" or None
        Multiplies the weights of the rows of a label; "balanced" lets every label weigh the same in total.
    warm_start : bool
        `fit` goes on from the present weights.
    average : bool or int
        Predict with the mean of the weights over all steps, θ̄ = (1/T) Σ_t θ_t; an int starts the mean at that instance.
    dtype : {None, "float32", "float64"}
        Of the weights; None follows X.
    callback : callable or None
        `callback(model, record)` after every epoch; a true answer ends the fit.
    grow_features : bool
        Later matrices may have more features than those before, or fewer: `partial_fit` learns weights for new ones,
        predictions leave them out.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two labels, else (n_labels, n_features)
        θ; the mean of all θ_t with `average`.
    intercept_ : array of shape (1,) or (n_labels,)
        b.
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    multilabel_ : bool
        Whether y was an indicator: a row may have several labels, and `classes_` are the numbers of its columns.
    n_iter_ : int
        Epochs run.
    history_ : list of dict
        One record an epoch: epoch, seconds, loss (the mean over the rows, each before its step), objective (their sum),
        updates, progressive_accuracy (of predictions made before each row's step), and validation_score where there is
        validation data.
    objective_ : float
        The last record's objective.
    converged_ : bool
        Whether a criterion ended the fit, or all epochs were wanted; False when `max_iter` came first.
    t_ : int
        Instances counted so far, and one.
    loss_functions : dict
        Of the class: each loss as a function of `fastlin.losses`, with its width where it has one.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import SGDClassifier
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = SGDClassifier(loss="log_loss", learning_rate="adagrad", eta0=1.0, max_iter=20, tol=None, random_state=0)
    >>> model.fit(X, ["a", "b", "c", "c"]).predict(X).tolist()
    ['a', 'b', 'c', 'c']
    >>> model.predict_proba(X).shape
    (4, 3)
    """

    _takes_indicators: ClassVar[bool] = True
    _parameters: ClassVar[ParameterTable] = OnlineClassifier._parameters | DECAY | STEPWISE | {
        "loss": OneOf(*LOSSES), "multi_class": OneOf("auto", "multinomial", "ovr"), "project": TRUTH,
    }  # fmt: skip
    loss_functions: ClassVar[dict[str, tuple[Any, ...]]] = LOSS_FUNCTIONS

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
        return super()._one_vs_rest or (self.multi_class == "auto" and self.loss not in OF_ALL_LABELS)

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

    def _sampling(self) -> str:
        return super()._sampling() if self.sampling is None else self.sampling

    def _check_labels(self, n_labels: int) -> None:
        if n_labels > 2 and self.loss in OF_RESIDUALS and not self._one_vs_rest:
            raise ValueError(
                f"loss={self.loss!r} is of the targets ±1, which {n_labels} labels do not have together: take "
                "multi_class='ovr'"
            )

    @available_if(_probabilistic)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(label | row), columns as `classes_`; only with loss="log_loss" or "modified_huber".

        Of the latter it is (1 + min(1, max(−1, score)))/2 of each label against the rest, brought to the sum 1.
        """
        return self._probabilities(X, logarithmic=False)

    @available_if(_probabilistic)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(label | row), columns as `classes_`; only with loss="log_loss" or "modified_huber"."""
        return self._probabilities(X, logarithmic=True)

    def _probabilities(self, X: Any, *, logarithmic: bool) -> NDArray[np.float64]:
        scores = self._scores(self._checked_rows(X))
        if self._container is not None and self.loss == "log_loss":
            return independent_probabilities(scores, logarithmic)
        if self.loss == "modified_huber" and len(self.classes_) > 1:
            shares = self._huber_probabilities(scores)
            with np.errstate(divide="ignore"):
                return np.log(shares) if logarithmic else shares
        if self._one_vs_rest and scores.shape[1] > 1:  # each label's own probability, made to sum to one
            scores = -np.logaddexp(0, -scores)
        return probabilities(scores, len(self.classes_), logarithmic)

    def _huber_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if scores.shape[1] > 1 and not self._one_vs_rest:
            raise ValueError(
                f"of {scores.shape[1]} labels loss='modified_huber' has probabilities with multi_class='ovr' only: "
                "they are of each label against the rest"
            )
        shares = (np.clip(scores, -1, 1) + 1) / 2
        if self._container is not None:
            return shares
        if scores.shape[1] == 1:
            return np.hstack([1 - shares, shares])
        shares[~shares.any(axis=1)] = 1
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
