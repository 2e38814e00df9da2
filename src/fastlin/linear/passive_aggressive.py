"""Passive-aggressive learning: the smallest change that gets an instance right."""

from typing import Any, ClassVar, Literal

from fastlin.linear.online import MULTI_CLASS, OnlineClassifier
from fastlin.linear.online_parameters import DECAY
from fastlin.losses import CODES
from fastlin.optim.update_rules import PASSIVE_AGGRESSIVE, PASSIVE_AGGRESSIVE_SQUARED
from fastlin.validation.choices import MultiClass
from fastlin.validation.parameter_kinds import OneOf, ParameterTable, Real

STEPS = {"hinge": PASSIVE_AGGRESSIVE, "squared_hinge": PASSIVE_AGGRESSIVE_SQUARED}


class PassiveAggressiveClassifier(OnlineClassifier):
    """PA, PA-I and PA-II (Crammer et al. 2006), truly multiclass.

    A step is the smallest change that gives the right label a margin of 1 over the best wrong one: with ŷ the lowest
    argmax over k ≠ y, ℓ = max(0, 1 − s_y + s_ŷ) and n = ‖f(x,y) − f(x,ŷ)‖² = 2‖x‖² (the intercept's 1 included),
    θ_y += τx and θ_ŷ −= τx, where τ = min(C, ℓ/n) in PA-I and ℓ/(n + 1/(2C)) in PA-II; C = inf is the plain PA. Two
    labels are the binary rule: w += τyx, n = ‖x‖².

    Parameters
    ----------
    C : float
        The largest step; inf for none. Lower it when labels are noisy.
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
    early_stopping : bool
        Stop by the accuracy on held-out rows, or on `X_val`, `y_val` given to `fit`.
    validation_fraction : float
        The share of the rows that `early_stopping` holds out.
    n_iter_no_change : int
        Epochs without progress that end a fit.
    shuffle : bool
        A new order every epoch; False takes the rows as they lie.
    verbose : int
        1 prints a line an epoch.
    loss : {"hinge", "squared_hinge"}
        PA-I and PA-II.
    n_jobs : int or None
        Threads for predictions; it never changes a bit of the model.
    random_state : int, RandomState, Generator or None
        The seed of the orders.
    warm_start : bool
        `fit` goes on from the present weights.
    class_weight : dict, "balanced" or None
        Multiplies the weights of the rows of a label; "balanced" lets every label weigh the same in total.
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
    >>> from fastlin import PassiveAggressiveClassifier
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> PassiveAggressiveClassifier(max_iter=5, tol=None, random_state=0).fit(X, [0, 1, 2, 2]).predict(X).tolist()
    [0, 1, 2, 2]
    """

    _takes_indicators: ClassVar[bool] = True
    _parameters: ClassVar[ParameterTable] = OnlineClassifier._parameters | DECAY | {
        "C": Real(above=0), "loss": OneOf(*STEPS), "multi_class": MULTI_CLASS,
    }  # fmt: skip

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        multi_class: MultiClass = "multinomial",
        intercept_decay: float | None = None,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int = False,
        dtype: Any = None,
        callback: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.intercept_decay = intercept_decay
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.average = average
        self.dtype = dtype
        self.callback = callback
        self.grow_features = grow_features

    def _rule(self) -> dict[str, Any]:
        return {
            "loss": CODES["hinge"],
            "step": STEPS[self.loss],
            "C": float(self.C),
            "one_vs_rest": self._one_vs_rest,
        }
