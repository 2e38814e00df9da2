"""Passive-aggressive learning: the smallest change that gets an instance right."""

from typing import Any

from fastlin.linear.online import OnlineClassifier
from fastlin.losses import CODES
from fastlin.optim.state import PASSIVE_AGGRESSIVE, PASSIVE_AGGRESSIVE_SQUARED
from fastlin.validation import one_of, real_number

STEPS = {"hinge": PASSIVE_AGGRESSIVE, "squared_hinge": PASSIVE_AGGRESSIVE_SQUARED}


class PassiveAggressiveClassifier(OnlineClassifier):
    """PA, PA-I and PA-II (Crammer et al. 2006), truly multiclass.

    With ŷ the lowest argmax over k ≠ y and ℓ = max(0, 1 − s_y + s_ŷ): θ_y += τx, θ_ŷ −= τx, where for n = ‖f(x,y) − f(x,ŷ)‖²
    = 2‖x‖² (the intercept's 1 included) τ = min(C, ℓ/n) in PA-I and ℓ/(n + 1/(2C)) in PA-II; C = inf is the plain PA. Two
    labels are the binary rule: w += τyx, n = ‖x‖².

    Parameters
    ----------
    C : float
        The largest step; inf for none.
    loss : {"hinge", "squared_hinge"}
        PA-I and PA-II.
    fit_intercept, max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, shuffle, verbose, n_jobs, \
    random_state, warm_start, class_weight, average, dtype, callback
        As in `Perceptron`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> PassiveAggressiveClassifier(max_iter=5, tol=None, random_state=0).fit(X, [0, 1, 2, 2]).predict(X).tolist()
    [0, 1, 2, 2]
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        loss: str = "hinge",
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int = False,
        dtype: Any = None,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
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

    def _rule(self) -> dict[str, Any]:
        return {
            "loss": CODES["hinge"],
            "step": STEPS[one_of("loss", self.loss, STEPS)],
            "C": real_number("C", self.C, above=0),
        }
