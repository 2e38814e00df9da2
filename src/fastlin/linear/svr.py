"""Linear support vector regression by dual coordinate ascent, or by Newton's method."""

from typing import Any, ClassVar, Literal, Self

import numpy as np

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.dataset import InMemoryDataset
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.sparse_estimator import checkpoint_of
from fastlin.data.scratch import ScratchArray
from fastlin.linear.batch_regressor import BatchRegressor
from fastlin.linear.svm_results import certify, keep_duals, kept_duals, warn_of_gap
from fastlin.optim.solvers import svm_dispatch
from fastlin.optim.solvers.svm_dual import LabelBlock, label_blocks
from fastlin.optim.solvers.svm_problem import SvmObjective, SvmProblem
from fastlin.runtime import parallel
from fastlin.validation.parameter_kinds import (
    BOOL,
    RUN,
    TRUTH,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


class LinearSVR(BatchRegressor):
    """Linear support vector regression, solved until the duality gap says how good the answer is.

    Minimises ½‖θ‖² + C Σ_i w_i ℓ_i with ℓ = max(0, |y − s| − ε) or its square, the intercept among θ as the weight of a
    feature that is always `intercept_scaling`, as in LIBLINEAR.

    The dual is raised row by row (Ho & Lin 2012); rows with little to win rest. Of few columns, or where norms are so
    large that this is slow, the squared loss is minimised by Newton's method.

    Parameters
    ----------
    epsilon : float
        ε: residuals up to this size cost nothing.
    tol : float
        The fit ends when (objective − dual objective) ≤ tol · objective.
    C : float
        The weight of the losses.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
    fit_intercept : bool
        Learn b, the weight of one more feature.
    intercept_scaling : float
        The value of that feature: b = intercept_scaling · weight, and the larger it is the less b is penalised.
    dual : {"auto", True, False}
        True is dual ascent; False Newton's method on the primal, where there is one: for the squared loss. "auto"
        chooses by what they cost, and changes to Newton's method where the dual is slow. Primal and dual have one
        optimum, and the gap between them ends the fit.
    verbose : int
        1 prints a line an epoch.
    random_state : int, RandomState, Generator or None
        The seed of the orders in which rows are visited.
    max_iter : int
        Epochs, or steps of Newton's method, at most.
    n_jobs : int or None
        Threads for predictions; it never changes a bit of the model.
    warm_start : bool
        Keep the dual variables, and begin the next `fit` from them if it has as many rows.
    callback : callable or None
        `callback(model, record)` after every epoch; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        θ.
    intercept_ : array of shape (1,)
        b.
    n_iter_ : int
        Epochs run, and steps of Newton's method.
    history_ : list of dict
        One record an epoch, or step: epoch, seconds, dual (the dual objective), gap (at most what is left, as the rows
        last told), active (rows visited, or at a step those with a loss) and, where it has been measured, objective;
        the gap is then exact.
    objective_ : float
        The objective.
    converged_ : bool
        Whether the gap (or the callback) ended the fit; False when `max_iter` came first.
    certificate_ : dict
        objective, dual_objective and their difference duality_gap: no θ has an objective below dual_objective.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import LinearSVR
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = LinearSVR(C=1e3, tol=1e-6, random_state=0).fit(X, [1.5, -1.0, 0.5, 2.0])
    >>> model.predict(X).round(2).tolist()
    [1.5, -1.0, 0.5, 2.0]
    >>> model.certificate_["duality_gap"] <= 1e-6 * model.objective_
    True
    """

    _parameters: ClassVar[ParameterTable] = RUN | {
        "epsilon": Real(at_least=0, at_most=1e100), "tol": Real(at_least=0), "C": Real(above=0, at_most=1e100),
        "loss": OneOf(*LOSSES), "fit_intercept": TRUTH, "intercept_scaling": Real(above=0, at_most=1e100),
        "dual": BOOL | OneOf("auto"), "max_iter": Integer(at_least=1), "warm_start": TRUTH,
    }  # fmt: skip

    _dual: tuple[list[int], list[ScratchArray]] | None  # the rows, and their dual variables

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Literal["auto"] | bool = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callback = callback

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
        y : array of shape (n_samples,)
            Real numbers.
        sample_weight : array of shape (n_samples,), optional
            w: multiplies the loss of each row; rows of weight 0 are left out.
        checkpoint : path, optional
            A file that says where the fit stands, written between two epochs.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every epoch.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        check_parameters(self)
        model, generator = self._working_copy(), validation.as_generator(self.random_state)
        read = model._read_rows(X, True, dtype=np.dtype(np.float64))
        data = read.targeted(y, sample_weight, estimator=type(self).__name__)
        rows = InMemoryDataset(data.rows, weights=data.weights)
        file = checkpoint_of(self, rows, checkpoint, checkpoint_interval, resume, {"y": data.targets})
        problem = SvmProblem(rows, self._objective(), rows.scratch(), data.targets)
        parts = label_blocks(problem, generator)
        dual = self.dual if isinstance(self.dual, str) else bool(self.dual)
        kept = kept_duals(self, problem)
        before = None if kept is None else (kept, validation.as_vector(self.intercept_, "intercept_"))
        with parallel.WorkerPool(1) as workers:
            monitor = FitMonitor(int(self.max_iter), make_callback(model, lambda: model._install(parts)), file)
            svm_dispatch.train(parts, dual, float(self.tol), generator, workers, monitor, before)
        model.history_, model.n_iter_, model.converged_ = monitor.history, monitor.iterations, monitor.converged
        certify(model._install(parts), parts)
        keep_duals(model, parts)
        self._take_fitted(model)
        if not monitor.converged:
            self._warn()
        return self

    # Parts

    def _objective(self) -> SvmObjective:
        return SvmObjective(
            float(self.C), None, 1, self.loss == "squared_epsilon_insensitive", False,
            float(self.intercept_scaling) if self.fit_intercept else 0.0, 1.0, float(self.epsilon),
        )  # fmt: skip

    def _install(self, parts: list[LabelBlock]) -> Self:
        """Weights and intercept as they are now."""
        (part,) = parts
        self.coef_, self.intercept_ = part.weights[:, 0], part.problem.objective.scaling * part.bias
        return self

    def _warn(self) -> None:
        warn_of_gap(self)
