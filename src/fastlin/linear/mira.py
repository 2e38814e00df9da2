"""MIRA: the smallest change that separates an instance from every other label at once."""

from typing import Any, ClassVar

from fastlin.linear.online import OnlineClassifier
from fastlin.linear.online_parameters import DECAY
from fastlin.losses import CODES
from fastlin.optim.update_rules import MIRA
from fastlin.validation.parameter_kinds import ParameterTable, Real


class MIRAClassifier(OnlineClassifier):
    """The margin-infused relaxed algorithm (Crammer & Singer 2003), each step solved exactly.

    A step is min ½‖θ − θ_t‖² + Cξ with ξ ≥ 0 and (θ_y − θ_r)·x ≥ 1 − ξ for all r ≠ y, in O(K log K). Two labels: PA-I.

    Parameters
    ----------
    C : float
        The price of slack; inf for none. Lower it when labels are noisy.
    fit_intercept : bool
        Learn b, the weight of a feature that is always 1.
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
    >>> from fastlin import MIRAClassifier
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> MIRAClassifier(max_iter=5, tol=None, random_state=0).fit(X, ["a", "b", "c", "c"]).predict(X).tolist()
    ['a', 'b', 'c', 'c']
    """

    _parameters: ClassVar[ParameterTable] = OnlineClassifier._parameters | DECAY | {"C": Real(above=0)}

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_decay: float | None = 1.0,
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
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_decay = intercept_decay
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
        return {"loss": CODES["hinge"], "step": MIRA, "C": float(self.C)}
