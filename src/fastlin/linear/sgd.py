"""Stochastic gradient descent: any loss, any schedule, lazy and exact penalties."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from fastlin.core.sparse_estimator import probabilities
from fastlin.linear.online import OnlineClassifier
from fastlin.losses import CODES
from fastlin.optim.update_rules import ADAGRAD, FTRL, GRADIENT, MIN_FTRL_RATE, SCHEDULES
from fastlin.validation import real_number
from fastlin.validation.parameter_kinds import ABSENT, TRUTH, Integer, OneOf, ParameterTable, Real

LOSSES = ("hinge", "log_loss", "squared_hinge", "perceptron")
SAMPLINGS = ("shuffle", "replace", "order")
PENALTY: ParameterTable = {
    "penalty": OneOf("l2", "l1", "elasticnet", None), "alpha": Real(at_least=0, at_most=1e100),
    "l1_ratio": Real(at_least=0, at_most=1) | ABSENT, "eta0": Real(above=0, at_most=1e100),
}  # fmt: skip


def penalties(penalty: Any, alpha: Any, l1_ratio: Any) -> dict[str, float]:
    """λ, λ₁ and λ₂ from scikit-learn's parameters."""
    if l1_ratio is None and penalty == "elasticnet":
        raise ValueError("penalty='elasticnet' needs l1_ratio, a number from 0 to 1; got None")
    alpha, share = float(alpha), l1_ratio if penalty == "elasticnet" else float(penalty == "l1")
    return {"alpha": alpha, "l1": alpha * share, "l2": alpha * (1 - share) if penalty is not None else 0.0}


def _probabilistic(model: "SGDClassifier") -> bool:
    if model.loss != "log_loss":
        raise AttributeError(f"probabilities need loss='log_loss', this model has loss={model.loss!r}")
    return True


class SGDClassifier(OnlineClassifier):
    """Linear classification by stochastic gradient descent, truly multiclass.

    Minimises λ₂/2 ‖θ‖² + λ₁ ‖θ‖₁ + (1/n) Σ_i w_i loss(θ; x_i, y_i), the intercept unpenalised. One step takes scores
    with θ_t, then θ ← (1 − ηλ₂)θ − η ∂loss, then θ ← sgn θ·max(0, |θ| − ηλ₁); lazily: an epoch costs O(non-zeros).

    Parameters
    ----------
    loss : {"hinge", "log_loss", "squared_hinge", "perceptron"}
        For more than two labels: Crammer and Singer's hinge and its square, the softmax's log loss.
    penalty : {"l2", "l1", "elasticnet", None}
        Which norms of θ the objective has; L1 excludes `average`, but with "ftrl".
    alpha : float
        λ, the strength of the penalty.
    l1_ratio : float or None
        With "elasticnet": λ₁ = λ·l1_ratio, λ₂ = λ·(1 − l1_ratio). None with other penalties only.
    fit_intercept : bool
        Learn b, the weight of a feature that is always 1.
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
    n_jobs : int or None
        Threads for predictions; it never changes a bit of the model.
    random_state : int, RandomState, Generator or None
        The seed of the orders.
    learning_rate : str
        η at instance t: "optimal" 1/(λ(t₀ + t − 1)), "constant" η₀, "invscaling" η₀/t^power_t, "adaptive" η₀ divided
        by 5 when progress stops, "inverse" η₀/(1 + η₀λt), "pegasos" 1/(λt), "adagrad" η₀/√Σg² for each weight. "ftrl":
        the weights are FTRL-Proximal's (McMahan et al. 2013), with η₀/(1 + √Σg²) for each, λ₁ and λ₂ for the whole run.
    eta0 : float
        η₀; for "adagrad" and "ftrl" 1.0 works without tuning.
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

    _parameters: ClassVar[ParameterTable] = OnlineClassifier._parameters | PENALTY | {
        "loss": OneOf(*LOSSES), "sampling": OneOf(*SAMPLINGS) | ABSENT, "learning_rate": OneOf(*SCHEDULES),
        "power_t": Real(at_least=0, at_most=100), "project": TRUTH, "batch_size": Integer(at_least=1),
    }  # fmt: skip

    def __init__(
        self,
        loss: str = "hinge",
        *,
        penalty: str | None = "l2",
        alpha: float = 1e-4,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        sampling: str | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: str = "optimal",
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
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.sampling = sampling
        self.verbose = verbose
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

    def _rule(self) -> dict[str, Any]:
        fields = penalties(self.penalty, self.alpha, self.l1_ratio)
        alpha, offset = fields["alpha"], 0.0
        if self.learning_rate in ("optimal", "pegasos") and alpha == 0:
            raise ValueError(f"learning_rate={self.learning_rate!r} divides by alpha, which is 0; choose another rate")
        least = MIN_FTRL_RATE if self.learning_rate == "ftrl" else -math.inf
        if self.learning_rate == "optimal":
            offset = 1 / (math.sqrt(1 / math.sqrt(alpha)) * alpha)
        if self.project and self.learning_rate != "pegasos":
            raise ValueError("project=True belongs to learning_rate='pegasos'")
        if self.project and fields["l1"] > 0:
            raise ValueError("project=True together with an L1 penalty has no exact lazy form; use penalty='l2'")
        return {
            **fields,
            "loss": CODES[self.loss],
            "step": {"adagrad": ADAGRAD, "ftrl": FTRL}.get(self.learning_rate, GRADIENT),
            "schedule": SCHEDULES[self.learning_rate],
            "offset": offset,
            "eta0": real_number("eta0", self.eta0, above=0, at_least=least, at_most=1e100),
            "power": float(self.power_t),
            "project": bool(self.project),
            "batch_size": int(self.batch_size),
        }

    def _sampling(self) -> str:
        return super()._sampling() if self.sampling is None else self.sampling

    @available_if(_probabilistic)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(label | row), columns as `classes_`; only with loss="log_loss"."""
        return probabilities(self._scores(self._checked_rows(X)), len(self.classes_), logarithmic=False)

    @available_if(_probabilistic)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(label | row), columns as `classes_`; only with loss="log_loss"."""
        return probabilities(self._scores(self._checked_rows(X)), len(self.classes_), logarithmic=True)
