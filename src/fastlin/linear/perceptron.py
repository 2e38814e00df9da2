"""The perceptron, plain and averaged."""

from typing import Any, ClassVar

from fastlin.linear.online import MULTI_CLASS, OnlineClassifier
from fastlin.linear.online_parameters import DECAY
from fastlin.linear.sgd_parameters import PENALTY, penalties
from fastlin.losses import CODES
from fastlin.optim.update_rules import GRADIENT, SCHEDULES
from fastlin.validation.choices import MultiClass, WeightPenalty
from fastlin.validation.parameter_kinds import ParameterTable


class Perceptron(OnlineClassifier):
    """The multiclass perceptron (Rosenblatt 1958; Collins 2002), plain or averaged (Freund & Schapire 1999).

    Steps down Σ_i max(0, max_{k≠y} s_k − s_y), one for each error. An instance is an error when s_y ≤ max_{k≠y} s_k: a
    tie is an error. Then θ_y += η₀x and θ_ŷ −= η₀x, with ŷ the lowest k that attains the maximum. Two labels share one
    column, w ± η₀x. `average=True` is nearly always the better model.

    Parameters
    ----------
    penalty : {None, "l2", "l1", "elasticnet"}
        Which norms of θ the objective has; L1 excludes `average`.
    alpha : float
        λ, the strength of the penalty.
    l1_ratio : float or None
        With "elasticnet": λ₁ = λ·l1_ratio, λ₂ = λ·(1 − l1_ratio). None with other penalties only.
    fit_intercept : bool
        Learn b, the weight of a feature that is always 1.
    multi_class : {"multinomial", "ovr"}
        Of more than two labels: one model of all, in which a row moves its label against the one that scores highest;
        or, scikit-learn's, a model for each label against the rest, all of them learnt in one pass.
    intercept_decay : float or None
        The intercept's share of each step. It is in every row, where other features are rare, and with the whole
        step it may follow the last labels, above all in a single pass. None: 0.01 for sparse rows, 1 for a dense
        matrix.
    max_iter : int
        Epochs at most.
    tol : float or None
        Stop when the mean loss of an epoch has not fallen by `tol` for `n_iter_no_change` epochs; None: run them all.
    shuffle : bool
        A new order every epoch; False takes the rows as they lie.
    verbose : int
        1 prints a line an epoch.
    eta0 : float
        η₀, the length of a step; without a penalty it only scales the weights.
    n_jobs : int or None
        Threads for predictions; it never changes a bit of the model.
    random_state : int, RandomState, Generator or None
        The seed of the orders.
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
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import Perceptron
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = Perceptron(average=True, max_iter=5, tol=None).fit(X, ["a", "b", "c", "c"])
    >>> model.predict(X).tolist()
    ['a', 'b', 'c', 'c']
    >>> model.partial_fit([[0, 0, 0.5]], ["d"]).classes_.tolist()
    ['a', 'b', 'c', 'd']
    """

    _takes_indicators: ClassVar[bool] = True
    _parameters: ClassVar[ParameterTable] = (
        OnlineClassifier._parameters | DECAY | PENALTY | {"multi_class": MULTI_CLASS}
    )

    def __init__(
        self,
        *,
        penalty: WeightPenalty | None = None,
        alpha: float = 1e-4,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        multi_class: MultiClass = "multinomial",
        intercept_decay: float | None = None,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
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
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.intercept_decay = intercept_decay
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
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
        return {
            "loss": CODES["perceptron"],
            "step": GRADIENT,
            "schedule": SCHEDULES["constant"],
            "eta0": float(self.eta0),
            "one_vs_rest": self._one_vs_rest,
            **penalties(self.penalty, self.alpha, self.l1_ratio),
        }
