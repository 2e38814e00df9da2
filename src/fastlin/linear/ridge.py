"""Ridge regression, solved until the duality gap says how good the answer is."""

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.dataset import InMemoryDataset, TargetedRows
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.sparse_estimator import checkpoint_of
from fastlin.linear.batch_regressor import BatchRegressor
from fastlin.optim.ridge_problem import RidgePoint, RidgeProblem
from fastlin.optim.solvers import ridge as solvers
from fastlin.optim.solvers.ridge_positive import PositivePoint, train_positive
from fastlin.validation.parameter_kinds import (
    ABSENT,
    NUMBERS,
    RUN,
    TRUTH,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
MAX_ALPHA = 1e100
MAX_STEPS = 10  # a weight, where max_iter does not say


class Ridge(BatchRegressor):
    """Linear regression with a squared loss and an L2 penalty, of one target or of several in one pass.

    Minimises Σ_i w_i (y_i − θ·x_i − b)² + α‖θ‖², the intercept unpenalised; sparse rows are centred without being
    changed. All solvers reach the one optimum: by Cholesky's decomposition where columns or rows are few, by
    conjugate gradients elsewhere.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,)
        α, from 0, where the answer is the least squares' of least norm.
    fit_intercept : bool
        Learn b.
    copy_X : bool
        For scikit-learn's sake: X is never changed.
    max_iter : int or None
        Steps at most; None: so many that rounding ends a fit before.
    tol : float
        The fit ends when (objective − dual objective) ≤ tol · objective and ‖gradient‖ ≤ tol · ‖gradient at 0‖, for
        every target; without a penalty by the latter. A decomposition, which knows more than the dual, ends by what
        the objective is above its least value.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}
        "cholesky" decomposes the Gram matrix of the columns or of the rows, whichever is smaller, "svd" a small matrix
        of rows; both give way to conjugate gradients where that is too large. "lsqr", "sparse_cg", "sag" and "saga" are
        conjugate gradients. "auto" and "lbfgs" choose by what they cost.
    positive : bool
        No weight is below 0: with solver="auto" or "lbfgs", by projected conjugate gradients.
    random_state : int, RandomState, Generator or None
        For scikit-learn's sake: nothing is drawn.
    n_jobs : int or None
        Threads, for passes and for predictions; the bits are the same.
    verbose : int
        1 prints a line a step.
    callback : callable or None
        `callback(model, record)` after every step; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        θ.
    intercept_ : float or array of shape (n_targets,)
        b; 0.0 without an intercept.
    n_iter_ : array of shape (n_targets,)
        Steps: all targets take them together.
    solver_ : str
        `solver`, or what "auto" has chosen.
    history_ : list of dict
        One record a step: iteration, seconds, objective, gap.
    objective_ : float
        The objective, summed over the targets.
    converged_ : bool
        Whether the fit ended as `tol` (or the callback) wants; False when `max_iter` or rounding came first.
    certificate_ : dict
        objective, gradient_norm (‖½∇‖, the largest of a target) and, with a penalty, dual_objective and their
        difference duality_gap: no θ has an objective below dual_objective.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import Ridge
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = Ridge(alpha=1e-6).fit(X, [1.5, -1.0, 0.5, 2.0])
    >>> model.predict(X).round(2).tolist()
    [1.5, -1.0, 0.5, 2.0]
    >>> model.certificate_["duality_gap"] <= 1e-4 * model.objective_
    True
    """

    _parameters: ClassVar[ParameterTable] = RUN | {
        "alpha": NUMBERS, "fit_intercept": TRUTH, "copy_X": TRUTH, "max_iter": Integer(at_least=1) | ABSENT,
        "tol": Real(at_least=0), "solver": OneOf(*SOLVERS), "positive": TRUTH,
    }  # fmt: skip

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: Literal["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"] = "auto",
        positive: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @learns
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Learn from these rows.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Dense or sparse; a CSR of float64 with int32 indices is used where it lies.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Real numbers.
        sample_weight : array of shape (n_samples,), optional
            w: multiplies the loss of each row; rows of weight 0 are left out.
        checkpoint : path, optional
            A file that says where the fit stands, written between two steps.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every step.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        self._check()
        model = self._working_copy()
        rows = model._read_rows(X, True, dtype=np.dtype(np.float64))
        data = rows.targeted(y, sample_weight, estimator=type(self).__name__, several=True)
        shape, problem = data.targets.shape[1:], model._problem(data)
        point = PositivePoint(problem) if self.positive else RidgePoint(problem)
        most = MAX_STEPS * (problem.rows.n_columns + 100) if self.max_iter is None else int(self.max_iter)
        given = InMemoryDataset(data.rows, weights=data.weights)
        file = checkpoint_of(self, given, checkpoint, checkpoint_interval, resume, {"y": data.targets})
        monitor = FitMonitor(most, make_callback(model, lambda: model._install(point, shape)), file)
        if isinstance(point, PositivePoint):
            used = train_positive(point, float(self.tol), monitor)
        else:
            used = solvers.train(point, self.solver, float(self.tol), monitor)
        monitor.converged = monitor.stopped or monitor.converged
        model.solver_ = used if self.solver == "auto" else self.solver
        model.history_, model.converged_ = monitor.history, monitor.converged
        model.n_iter_ = np.full(len(problem.alphas), monitor.iterations, np.int32)
        model._install(point, shape)._certify(point)
        self._take_fitted(model)
        if not monitor.converged:
            self._warn(point, most)
        return self

    # Parts

    def _check(self) -> None:
        check_parameters(self)
        if self.random_state is not None:  # nothing is drawn, also not a seed from numpy's global state
            validation.as_generator(self.random_state)
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise ValueError(
                f"solver={self.solver!r} does not support positive fitting: take solver='auto' or 'lbfgs', or "
                "positive=False"
            )

    def _problem(self, data: TargetedRows) -> RidgeProblem:
        """The problem of the rows that have a weight."""
        rows, targets, weights = data
        targets = targets.reshape(len(rows), -1)
        alphas = self._alphas(targets.shape[1])
        if len(weights) and not weights.all():
            kept = np.flatnonzero(weights)
            if not len(kept):
                raise ValueError("the weight of every row is zero: nothing to learn from")
            rows, targets, weights = rows.take(kept), targets[kept], weights[kept]
        return RidgeProblem(rows, targets, weights, alphas, bool(self.fit_intercept), self.n_jobs)

    def _alphas(self, n_targets: int) -> NDArray[np.float64]:
        """The penalty of each target."""
        if isinstance(self.alpha, str | bool) or self.alpha is None:
            raise TypeError(f"alpha must be a number, or one for each target, got {self.alpha!r}")
        alphas = validation.as_vector(np.ravel(self.alpha), "alpha")
        if len(alphas) not in (1, n_targets):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: {len(alphas)} != {n_targets}"
            )
        wrong = (alphas < 0) | (alphas > MAX_ALPHA)
        if wrong.any():
            raise ValueError(f"alpha must be >= 0 and at most {MAX_ALPHA:g}, got {alphas[wrong][0]:g}")
        return np.ascontiguousarray(np.broadcast_to(alphas, n_targets))

    def _install(self, point: RidgePoint, shape: tuple[int, ...]) -> Self:
        """Weights and intercepts as they are now, for targets of this shape."""
        theta, intercepts = point.latest.copy(), point.problem.intercepts(point.latest)
        self.coef_ = theta.T if theta.shape[1] > 1 else theta[:, 0]
        self.intercept_ = (intercepts if shape else intercepts[0]) if self.fit_intercept else 0.0
        return self

    def _certify(self, point: RidgePoint) -> None:
        """What is known of the optimum."""
        self.objective_ = float(point.objectives.sum())
        self.certificate_ = {"objective": self.objective_, "gradient_norm": float(point.norms.max())}
        gap = float(point.gaps.sum())
        if np.isfinite(gap) and (point.problem.alphas > 0).all():
            self.certificate_ |= {"dual_objective": self.objective_ - gap, "duality_gap": gap}

    def _warn(self, point: RidgePoint, most: int) -> None:
        """Say how far the fit is from the optimum, and what helps."""
        ended = f"max_iter={most} steps" if (self.n_iter_ >= most).all() else "rounding"
        name = "lbfgs" if self.positive else self.solver_
        penalised, tiny = point.problem.alphas > 0, np.finfo(float).tiny
        gap = float((point.gaps / np.maximum(point.objectives, tiny))[penalised].max(initial=0))
        slope = float((point.norms / np.maximum(point.first_norms, tiny)).max())
        warnings.warn(
            f"{name} solver did not converge: {ended} ended the fit and left a relative duality gap of {gap:.1e} and "
            f"{slope:.1e} of the first gradient, for tol={self.tol:g}. Raise max_iter, tol or alpha, or scale the "
            "features.",
            ConvergenceWarning,
            stacklevel=4,
        )
