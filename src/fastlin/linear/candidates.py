"""Instances that bring their own candidates: maximum entropy, perceptron, PA and SVM over any f(x, y)."""

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from fastlin import validation
from fastlin.core.dataset import Dataset, InMemoryDataset
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.fit_records import FitCertificate
from fastlin.core.label_sets import check_set_weights
from fastlin.core.sparse_estimator import Scorer, dense_scorer
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.linear.candidate_groups import grouped_rows
from fastlin.linear.maxent import COUNTS, MaxentClassifier, spread_out
from fastlin.losses import CODES
from fastlin.optim import candidates
from fastlin.optim.candidates import GroupedRows
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.epochs import Stopping, train_epochs
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.online_state import OnlineState
from fastlin.optim.solvers.dispatch import SOLVERS
from fastlin.optim.training_state import TrainingState
from fastlin.optim.update_rules import GRADIENT, PASSIVE_AGGRESSIVE, make_rule
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel
from fastlin.storage import Checkpoint
from fastlin.validation import real_number
from fastlin.validation.choices import LogLinearSolver
from fastlin.validation.parameter_kinds import ABSENT, BOOL, TRUTH, Integer, OneOf, ParameterTable, Real

LOSSES = ("log_loss", "perceptron", "hinge", "pa")
PATIENCE = 5  # epochs without progress that end an online fit


def _probabilistic(model: "CandidateClassifier") -> bool:
    if model.loss != "log_loss":
        raise AttributeError(f"probabilities need loss='log_loss', not {model.loss!r}")
    return True


class CandidateClassifier(MaxentClassifier):
    """Chooses among the candidates that each instance brings, by a linear score of any features f(x, y) of theirs.

    A row of X is a candidate; `group_sizes` says how many rows in turn belong to each instance, and y which of them is
    right. Over the instances g, with the scores s_r = θ·f_r of the rows of a group, y the right one and ŷ the best of
    the others (the first of equals):

    * "log_loss", maximum entropy: min Σ_g w_g (log Σ_r e^{s_r} − s_y) + ½ Σ_j (θ_j − m_j)²/σ_j²;
    * "hinge", the SVM: min Σ_g w_g max(0, 1 − s_y + s_ŷ) + ½‖θ‖²/C, by dual ascent;
    * "perceptron": where s_y ≤ s_ŷ, θ ← θ + w(f_y − f_ŷ);
    * "pa", passive-aggressive: θ ← θ + τ(f_y − f_ŷ), τ = min(wC, ℓ/‖f_y − f_ŷ‖²), ℓ = max(0, 1 − s_y + s_ŷ).

    There is no intercept: what all candidates of an instance share cancels in every difference of scores.

    Parameters
    ----------
    loss : {"log_loss", "perceptron", "hinge", "pa"}
        What an instance costs.
    C : float
        σ², the variance of the prior of "log_loss" (`inf` is the plain maximum-likelihood model), the C of "hinge", and
        the largest step of "pa".
    penalty : {"elasticnet", "l2", "l1", None, "deprecated"}
        For "log_loss": "elasticnet" is (1/C)(r‖θ‖₁ + (1 − r)/2 ‖θ‖²) with r = `l1_ratio`, the Gaussian prior with its
        default 0; "l1" is r = 1; None is C = inf. "deprecated", scikit-learn's default, is "elasticnet".
    l1_ratio : float
        r, the share of the L1 norm; by the solvers "auto", "newton" and "lbfgs".
    prior_variance : float or array of shape (n_features,), optional
        For "log_loss", σ_j² for each feature in the place of C; `inf` leaves a feature unpenalised.
    prior_mean : float or array of shape (n_features,) or (1, n_features), optional
        For "log_loss", m, where the prior pulls the weights to.
    tol : float or None
        "log_loss" stops when the duality gap ≤ tol · objective, without a prior on every weight when
        max |∂ objective| ≤ tol · Σ w; "hinge" when the duality gap ≤ tol · Σ w; "perceptron" and "pa" when
        the mean loss of an epoch has not fallen by `tol` for 5 epochs, with None after `max_iter` of them.
    random_state : int, RandomState, Generator or None
        The seed of the orders of the instances.
    solver : str
        For "log_loss": "auto", "newton" (truncated, with Hessian products), "lbfgs", "cg" (Polak–Ribière), "gd"
        (steepest descent), "gis" and "iis" (generalised and improved iterative scaling), "sgd" (averaged) and
        "adagrad", which approach the optimum; scikit-learn's names are understood.
    max_iter : int
        Iterations at most; epochs for all that visits instance by instance.
    average : bool or int
        For "perceptron" and "pa": the mean of the weights over all steps, θ̄ = (1/T) Σ_t θ_t; an int starts the mean at
        that instance.
    shuffle : bool
        For "perceptron" and "pa": a new order every epoch; False takes the instances as they lie.
    verbose : int
        1 prints a line a record of `history_`.
    warm_start : bool
        `fit` starts from the present weights; "hinge", whose dual cannot, starts anew.
    n_jobs : int or None
        Threads; they never change a bit of the model.
    dtype : {None, "float32", "float64"}
        Of `coef_`; None follows X.
    callback : callable or None
        `callback(model, record)` after every record; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        θ.
    objective_ : float
        What was minimised, at the end; for "perceptron" and "pa" the last epoch's Σ w ℓ, each loss before its step.
    certificate_ : dict
        "log_loss": objective; gradient_norm, the largest |∂ objective|; moment_gap, the largest |observed − expected|
        count; entropy, Σ w H(p); and, with a prior on every weight, duality_gap, a bound of how far the objective is
        from its minimum. "hinge": objective and duality_gap. The others have none: {}.
    history_ : list of dict
        One record an iteration: seconds, objective and, by loss: iteration, gradient_norm, passes over the data so far;
        iteration, duality_gap (where it was measured); epoch, loss, updates.
    converged_ : bool
        Whether `tol` was reached, or all epochs were wanted.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import CandidateClassifier
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0], [0, 1], [0, 0], [0, 2], [1, 1]])  # two candidates, then three
    >>> model = CandidateClassifier(C=10, tol=1e-10).fit(X, [0, 2], group_sizes=[2, 3])
    >>> model.predict(X, [2, 3]).tolist(), model.rank(X, [2, 3]).tolist()
    ([0, 2], [0, 1, 1, 2, 0])
    >>> model.predict_proba(X, [2, 3]).round(2).tolist()
    [0.93, 0.07, 0.1, 0.06, 0.83]
    """

    _parameters: ClassVar[ParameterTable] = MaxentClassifier._parameters | {
        "loss": OneOf(*LOSSES), "tol": Real(at_least=0) | ABSENT, "average": BOOL | Integer(at_least=0),
        "shuffle": TRUTH,
    }  # fmt: skip

    def __init__(
        self,
        *,
        loss: Literal["log_loss", "perceptron", "hinge", "pa"] = "log_loss",
        C: float = 1.0,
        penalty: Literal["elasticnet", "l2", "l1", "deprecated"] | None = "elasticnet",
        l1_ratio: float = 0.0,
        prior_variance: Any = None,
        prior_mean: Any = None,
        tol: float | None = 1e-4,
        random_state: Any = None,
        solver: LogLinearSolver = "auto",
        max_iter: int = 100,
        average: bool | int = False,
        shuffle: bool = True,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        dtype: Any = None,
        callback: Any = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.prior_variance = prior_variance
        self.prior_mean = prior_mean
        self.tol = tol
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.average = average
        self.shuffle = shuffle
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.dtype = dtype
        self.callback = callback

    coef_: NDArray[Any]

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        group_sizes: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Learn to choose.

        Parameters
        ----------
        X : matrix of shape (n_candidates, n_features), or Corpus
            One row a candidate, the candidates of an instance in turn; dense or sparse. A corpus has groups, of two
            labels the greater (1 of 0 and 1) for the right candidate, one in each group, and, if rows weigh, the
            right one's weight for the group's.
        y : array of shape (n_instances,)
            The place of the right candidate within its group, from 0; None with a corpus.
        group_sizes : array of shape (n_instances,)
            How many candidates each instance has, at least one; None with a corpus.
        sample_weight : array of shape (n_instances,), optional
            w; instances of weight 0 are left out. None with a corpus.
        checkpoint : path, optional
            A file that says where the fit stands, written between two iterations.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every iteration.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        solver = self._check_parameters()
        model = self._working_copy()
        data = model._read_data(X, nonnegative=solver in COUNTS)
        grouped = grouped_rows(data, data.grouped(y, group_sizes, sample_weight))
        sizes = data.groups if group_sizes is None else group_sizes
        file = self._checkpoint_of(_source(data, grouped), checkpoint, checkpoint_interval, resume, groups=sizes)
        if self.loss == "log_loss":
            model._maximise_entropy(grouped, solver, file)
        elif self.loss == "hinge":
            model._maximise_margin(grouped, file)
        else:
            model._learn_online(grouped, file)
        self._take_fitted(model)
        if self.loss == "log_loss":
            self._warn()
        elif not (self.converged_ or self._stopped):
            warnings.warn(
                f"The fit did not converge: max_iter={self.max_iter} epochs were not enough for tol={self.tol}. Raise "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    # What was learnt

    @reads
    def decision_function(self, X: Any, group_sizes: Any = None) -> NDArray[np.float64]:
        """The score of each row; `group_sizes`, if given, is checked.

        Parameters
        ----------
        X : matrix of shape (n_candidates, n_features), or Corpus
            A row for each candidate, those of an instance behind each other.
        group_sizes : array of int of shape (n_instances,), optional
            How many candidates each instance has.

        Returns
        -------
        array of shape (n_candidates,)
            Scores w·x, which compare within an instance only.
        """
        scores = self._scores(self._checked_rows(X))[:, 0]
        if group_sizes is not None:
            validation.as_groups(group_sizes, len(scores))
        return scores

    @reads
    def predict(self, X: Any, group_sizes: Any = None) -> NDArray[np.int64]:
        """The place of the best candidate within each group; the first among equals.

        Parameters
        ----------
        X : matrix of shape (n_candidates, n_features), or Corpus
            A row for each candidate, those of an instance behind each other.
        group_sizes : array of int of shape (n_instances,)
            How many candidates each instance has; None with a Corpus, which knows.

        Returns
        -------
        array of int64 of shape (n_instances,)
            Places within the instances, from 0 on.
        """
        rows = self._checked_rows(X)
        return self._best(rows, rows.group_starts(group_sizes))

    @reads
    def rank(self, X: Any, group_sizes: Any = None) -> NDArray[np.int64]:
        """The rank of each row within its group, 0 for the best; of equals the first is the better.

        Parameters
        ----------
        X : matrix of shape (n_candidates, n_features), or Corpus
            A row for each candidate, those of an instance behind each other.
        group_sizes : array of int of shape (n_instances,)
            How many candidates each instance has; None with a Corpus, which knows.

        Returns
        -------
        array of int64 of shape (n_candidates,)
            Ranks within the instances.
        """
        scores, starts = self._scored(X, group_sizes)
        sizes = np.diff(starts)
        order = np.lexsort((-scores, np.repeat(np.arange(len(sizes)), sizes)))
        ranks = np.empty(len(scores), np.int64)
        ranks[order] = np.arange(len(scores)) - np.repeat(starts[:-1], sizes)
        return ranks

    @available_if(_probabilistic)
    @reads
    def predict_proba(self, X: Any, group_sizes: Any = None) -> NDArray[np.float64]:
        """p of each row within its group; only with loss="log_loss"."""
        return np.exp(self.predict_log_proba(X, group_sizes))

    @available_if(_probabilistic)
    @reads
    def predict_log_proba(self, X: Any, group_sizes: Any = None) -> NDArray[np.float64]:
        """log p of each row within its group; only with loss="log_loss"."""
        scores, starts = self._scored(X, group_sizes)
        sizes = np.diff(starts)
        scores -= np.repeat(np.maximum.reduceat(scores, starts[:-1]), sizes)
        return scores - np.repeat(np.log(np.add.reduceat(np.exp(scores), starts[:-1])), sizes)

    @reads
    def score(  # type: ignore[override]
        self, X: Any, y: Any = None, group_sizes: Any = None, sample_weight: Any = None
    ) -> float:
        """The share of the instances whose right candidate is predicted; a corpus says itself which that is.

        Parameters
        ----------
        X : matrix of shape (n_candidates, n_features), or Corpus
            A row for each candidate, those of an instance behind each other.
        y : array of int of shape (n_instances,)
            The place of the right candidate within each instance; None with a Corpus.
        group_sizes : array of int of shape (n_instances,)
            How many candidates each instance has; None with a Corpus.
        sample_weight : array of shape (n_instances,), optional
            Weights of instances; None with a Corpus.

        Returns
        -------
        float
            From 0 to 1.
        """
        rows = self._checked_rows(X)
        starts, right, weights = rows.grouped(y, group_sizes, sample_weight)
        chosen = self._best(rows, starts)
        return float(np.average(chosen == right, weights=weights if len(weights) else None))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    # Parts

    def _check_fitted(self) -> None:
        super()._check_fitted()
        check_set_weights(self, {1})

    def _row_constraints(self) -> dict[str, Any]:
        return {"dtype": validation.as_real(self.coef_)}

    def _scorer(self) -> Scorer:
        weights = self._dense_weights(self.n_features_in_, 1, validation.as_real(self.coef_))
        return dense_scorer(weights, np.zeros(1), self.n_jobs)

    def _check_parameters(self) -> str:
        solver = super()._check_parameters()
        if self.tol is None and self.loss in ("log_loss", "hinge"):
            real_number("tol", self.tol)
        if self.loss == "log_loss":
            return solver
        if solver != "auto":
            raise ValueError(f"solver={self.solver!r} belongs to loss='log_loss'; loss={self.loss!r} takes 'auto'")
        if self.prior_variance is not None or self.prior_mean is not None or self._strengths()[0] > 0:
            raise ValueError(f"prior_variance, prior_mean and an L1 norm belong to loss='log_loss', not {self.loss!r}")
        if self.loss == "hinge" and (self.penalty is None or np.isinf(float(self.C))):
            raise ValueError("loss='hinge' needs a finite C and a penalty: separable data have no largest margin else")
        return solver

    def _read_data(self, X: Any, nonnegative: bool) -> Dataset:
        """The rows to learn from; their groups are not looked at."""
        known = getattr(self, "n_features_in_", None)
        data = self._read_rows(X, reset=True, dtype=validation.as_dtype(self.dtype), nonnegative=nonnegative)
        if self.warm_start and hasattr(self, "coef_") and known != self.n_features_in_:
            raise ValueError(f"warm_start goes on with the same features: {known}, but X has {self.n_features_in_}")
        return data

    def _maximise_entropy(self, data: GroupedRows, solver: str, checkpoint: Checkpoint) -> None:
        parts, n_features = data.to_partitions(), data.n_features
        layout, dtype, means = DenseWeights(parts.n_features, 1), self._type(data), self._means(n_features, 1)
        theta = aligned_zeros((parts.n_features,))
        with parallel.WorkerPool(self.n_jobs) as workers:
            problem = LogLinearProblem(parts, layout, self._prior(parts, layout, n_features), False, workers)
            if self.warm_start and hasattr(self, "coef_"):
                theta[:] = validation.as_finite(self.coef_, "coef_", 2)[0, parts.features]
            elif len(problem.prior.mean):
                theta[:] = problem.prior.mean

            def install() -> None:
                self.coef_ = spread_out(parts.features, n_features, theta[:, np.newaxis], means, dtype).T

            self._optimise(problem, theta, SOLVERS[solver], self._reporter(install, None), checkpoint)
            install()

    def _maximise_margin(self, data: GroupedRows, checkpoint: Checkpoint) -> None:
        generator, dtype = validation.as_generator(self.random_state), self._type(data)
        with parallel.WorkerPool(self.n_jobs) as workers:
            dual = candidates.HingeDual(data, float(self.C), workers)

            def install() -> None:
                self.coef_ = dual.theta.astype(dtype)[np.newaxis]

            report = self._reporter(install, None)
            monitor = ConvergenceMonitor(self.tol, self.max_iter, data.total_weight, report, checkpoint)
            dual.run(monitor, generator)
        install()
        last = monitor.history[-1]
        self._finish(monitor, {"objective": last["objective"], "duality_gap": last["duality_gap"]})

    def _learn_online(self, data: GroupedRows, checkpoint: Checkpoint) -> None:
        dtype = self._type(data)
        step = {"loss": CODES["perceptron"], "step": GRADIENT, "eta0": 1.0}
        if self.loss == "pa":
            step = {"loss": CODES["hinge"], "step": PASSIVE_AGGRESSIVE, "C": float(self.C)}
        rule = make_rule(dtype, average_from=int(self.average), **step)
        monitor = FitMonitor(int(self.max_iter), None, checkpoint)
        generator = monitor.register_generator(validation.as_generator(self.random_state))
        training = TrainingState((data.n_features, 1), rule, np.array([0, sum(data.sizes)]))
        monitor.register_run("epochs", training)
        state = training.online_state
        if state is None:
            state = OnlineState(rule, data.n_features, 1, dtype)
            if self.warm_start and hasattr(self, "coef_"):
                state.start_from(self.coef_, None)

        def install() -> None:
            self.coef_ = state.coef().T.copy()

        monitor.report = self._reporter(install, None)
        stream = candidates.GroupStream(data, dtype, self.shuffle, generator.generator)
        stopping = Stopping(self.tol, PATIENCE)
        train_epochs(state, stream, monitor, training, stopping, n_jobs=self.n_jobs, generator=generator)
        install()
        self._finish(monitor, {})

    def _finish(self, monitor: FitMonitor, certificate: FitCertificate) -> None:
        """What has been learnt of the fit itself."""
        self.history_, self.n_iter_, self.converged_ = monitor.history, monitor.iterations, monitor.converged
        self._stopped = monitor.stopped
        self.objective_, self.certificate_ = monitor.history[-1]["objective"], certificate

    def _type(self, data: GroupedRows) -> Any:
        return validation.as_dtype(self.dtype) or data.dtype

    def _best(self, rows: Dataset, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the best row within each group."""
        scores = self._scores(rows)[:, 0]
        top = np.maximum.reduceat(scores, starts[:-1])
        best = np.flatnonzero(scores == np.repeat(top, np.diff(starts)))
        return best[np.searchsorted(best, starts[:-1])] - starts[:-1]

    def _scored(self, X: Any, group_sizes: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The scores of the rows, and where the groups start."""
        rows = self._checked_rows(X)
        return self._scores(rows)[:, 0], rows.group_starts(group_sizes)


def _source(data: Dataset, grouped: GroupedRows) -> Dataset:
    """What is learnt from, as checkpoints know it."""
    if data.rows is None:
        return data
    rows, groups = grouped.piece(0)
    return InMemoryDataset(rows, codes=groups.gold.astype(np.int32), weights=groups.weights)
