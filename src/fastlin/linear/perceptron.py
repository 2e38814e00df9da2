"""The perceptron, plain and averaged."""

from typing import Any

from fastlin.linear.online import OnlineClassifier
from fastlin.linear.sgd import penalties
from fastlin.losses import CODES
from fastlin.optim.state import GRADIENT, SCHEDULES
from fastlin.validation import real_number


class Perceptron(OnlineClassifier):
    """The multiclass perceptron (Rosenblatt 1958; Collins 2002).

    An instance is an error when s_y ≤ max_{k≠y} s_k: a tie is an error. Then θ_y += η₀x and θ_ŷ −= η₀x, with ŷ the lowest
    k that attains the maximum. Two labels share one column, w ± η₀x.

    Parameters
    ----------
    penalty : {None, "l2", "l1", "elasticnet"}
    alpha, l1_ratio : float
        Strength and mixture of the penalty.
    fit_intercept : bool
    max_iter : int
        Epochs at most.
    tol : float or None
        Stop when the mean loss of an epoch has not fallen by `tol` for `n_iter_no_change` epochs; None: run them all.
    shuffle : bool
    verbose : int
        1 prints a line an epoch.
    eta0 : float
    n_jobs : int or None
        Threads for predictions; it never changes a bit of the model.
    random_state : int, RandomState, Generator or None
    early_stopping : bool
        Stop by the accuracy on held-out rows, or on `X_val`, `y_val` given to `fit`.
    validation_fraction : float
    n_iter_no_change : int
    class_weight : dict, "balanced" or None
    warm_start : bool
    average : bool or int
        θ̄ = (1/T) Σ_t θ_t, the averaged perceptron of Freund & Schapire 1999; an int starts at that instance.
    dtype : {None, "float32", "float64"}
        Of the weights; None follows X.
    callback : callable or None
        `callback(model, record)` after every epoch; a true answer ends the fit.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = Perceptron(average=True, max_iter=5, tol=None).fit(X, ["a", "b", "c", "c"])
    >>> model.predict(X).tolist()
    ['a', 'b', 'c', 'c']
    """

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 1e-4,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
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
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
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

    def _rule(self) -> dict[str, Any]:
        return {
            "loss": CODES["perceptron"],
            "step": GRADIENT,
            "schedule": SCHEDULES["constant"],
            "eta0": real_number("eta0", self.eta0, above=0, at_most=1e100),
            **penalties(self.penalty, self.alpha, self.l1_ratio),
        }
