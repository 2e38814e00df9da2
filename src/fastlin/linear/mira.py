"""MIRA: the smallest change that separates an instance from every other label at once."""

from typing import Any

from fastlin.linear.online import OnlineClassifier
from fastlin.losses import CODES
from fastlin.optim.state import MIRA
from fastlin.validation import real_number


class MIRAClassifier(OnlineClassifier):
    """The margin-infused relaxed algorithm (Crammer & Singer 2003), each step solved exactly.

    min ½‖θ − θ_t‖² + Cξ with ξ ≥ 0 and (θ_y − θ_r)·x ≥ 1 − ξ for all r ≠ y, in O(K log K). Two labels: PA-I.

    Parameters
    ----------
    C : float
        The price of slack; inf for none.
    fit_intercept, max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, shuffle, verbose, n_jobs, \
    random_state, warm_start, class_weight, average, dtype, callback
        As in `Perceptron`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> MIRAClassifier(max_iter=5, tol=None, random_state=0).fit(X, ["a", "b", "c", "c"]).predict(X).tolist()
    ['a', 'b', 'c', 'c']
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.average = average
        self.dtype = dtype
        self.callback = callback

    def _rule(self) -> dict[str, Any]:
        return {"loss": CODES["hinge"], "step": MIRA, "C": real_number("C", self.C, above=0)}
