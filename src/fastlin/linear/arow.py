"""AROW: confidence-weighted learning, in which weights that have seen much move little."""

from typing import Any, ClassVar

from fastlin.linear.online import MULTI_CLASS, OnlineClassifier
from fastlin.losses import CODES
from fastlin.optim.update_rules import AROW
from fastlin.validation.choices import MultiClass
from fastlin.validation.parameter_kinds import ParameterTable, Real


class AROWClassifier(OnlineClassifier):
    """Adaptive regularization of weights (Crammer, Kulesza & Dredze 2009), with a variance for each weight.

    The weights are Gaussian, N(θ, σ), with σ = 1 at first. Where the right label is not ahead by 1, a step minimises
    KL(N(θ, σ) ‖ N(θ_t, σ_t)) + (ℓ² + xᵀσx)/2r, ℓ the hinge loss against the best wrong label: θ_y += ασ_t x and
    θ_ŷ −= ασ_t x with α = ℓ/(xᵀσ_t x + r), then 1/σ += x²/r for both. So rare features keep the long steps that
    frequent ones have had. Two labels share one column.

    Parameters
    ----------
    r : float
        How little one row is trusted: a larger r makes shorter steps, and keeps the variances longer. Raise it when
        labels are noisy.
    fit_intercept : bool
        Learn b, the weight of a feature that is always 1.
    multi_class : {"multinomial", "ovr"}
        Of more than two labels: one model of all, in which a row moves its label against the one that scores highest;
        or a model for each label against the rest, all of them learnt in one pass.
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
    >>> from fastlin import AROWClassifier
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> AROWClassifier(max_iter=5, tol=None, random_state=0).fit(X, ["a", "b", "c", "c"]).predict(X).tolist()
    ['a', 'b', 'c', 'c']
    """

    _parameters: ClassVar[ParameterTable] = OnlineClassifier._parameters | {
        "r": Real(at_least=1e-100, at_most=1e100), "multi_class": MULTI_CLASS,
    }  # fmt: skip

    def __init__(
        self,
        *,
        r: float = 1.0,
        fit_intercept: bool = True,
        multi_class: MultiClass = "multinomial",
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int = False,
        dtype: Any = None,
        callback: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.r = r
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
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
            "loss": CODES["squared_hinge"],
            "step": AROW,
            "C": 1 / float(self.r),
            "one_vs_rest": self.multi_class == "ovr",
        }
