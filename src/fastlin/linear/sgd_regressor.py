"""Regression by stochastic gradient descent: the losses of residuals, any schedule, lazy and exact penalties."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import r2_score

from fastlin import validation
from fastlin.core.dataset import Dataset, InMemoryDataset, TargetedRows
from fastlin.core.estimator import learns
from fastlin.core.fit_records import FitRecord
from fastlin.core.sparse_estimator import SparseRegressor
from fastlin.core.stratified_split import Split, peer_split
from fastlin.linear.online_learner import Members, OnlineFit, OnlineLearner
from fastlin.linear.online_parameters import DECAY, check_rate
from fastlin.linear.sgd_parameters import STEPWISE, step_fields
from fastlin.losses import LOSS_FUNCTIONS, OF_RESIDUALS
from fastlin.optim.epochs import RowSource
from fastlin.optim.online_state import OnlineState
from fastlin.optim.training_state import TrainingState
from fastlin.runtime.shared_lock import Turn
from fastlin.validation.choices import LearningRate, ResidualLoss, Sampling, WeightPenalty
from fastlin.validation.parameter_kinds import OneOf, ParameterTable


class SGDRegressor(OnlineLearner, SparseRegressor):
    """Linear regression by stochastic gradient descent.

    Minimises λ₂/2 ‖θ‖² + λ₁ ‖θ‖₁ + (1/n) Σ_i w_i loss(y_i − θ·x_i − b), the intercept unpenalised; the steps are those
    of `SGDClassifier`, lazily: an epoch costs O(non-zeros).

    Parameters
    ----------
    loss : {"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"}
        Of the residual r = y − s: r²/2; the same up to |r| = ε and from there a straight line; max(0, |r| − ε); its
        square.
    penalty : {"l2", "l1", "elasticnet", None}
        Which norms of θ the objective has; L1 excludes `average`, but with "ftrl".
    alpha : float
        λ, the strength of the penalty.
    l1_ratio : float or None
        With "elasticnet": λ₁ = λ·l1_ratio, λ₂ = λ·(1 − l1_ratio). None with other penalties only.
    fit_intercept : bool
        Learn b, the weight of a feature that is always 1.
    intercept_decay : float or None
        The intercept's share of each step but those of "adagrad" and "ftrl", which have rates of their own. None: 0.01
        for sparse rows, 1 for a dense matrix.
    max_iter : int
        Epochs at most.
    tol : float or None
        Stop when the mean loss of an epoch has not fallen by `tol` for `n_iter_no_change` epochs; None: run them all.
    shuffle : bool
        A new order every epoch; False takes the rows as they lie.
    sampling : {None, "shuffle", "replace", "order"}
        The order of an epoch; None follows `shuffle`. "replace" draws rows with replacement.
    verbose : int
        1 prints a line an epoch.
    epsilon : float
        ε of the losses that have one.
    n_jobs : int or None
        Threads for predictions; it never changes a bit of the model.
    random_state : int, RandomState, Generator or None
        The seed of the orders.
    learning_rate : str
        η at instance t: "optimal" 1/(λ(t₀ + t − 1)), "constant" η₀, "invscaling" η₀/t^power_t, "adaptive" η₀ divided
        by 5 when progress stops, "inverse" η₀/(1 + η₀λt), "pegasos" 1/(λt), "adagrad" η₀/√Σg² for each weight. "ftrl":
        the weights are FTRL-Proximal's (McMahan et al. 2013), with η₀/(1 + √Σg²) for each, λ₁ and λ₂ for the whole run.
        "pa1", "pa2": with loss="epsilon_insensitive", PA's steps (Crammer et al. 2006), of which η₀ is the C:
        min(η₀, ℓ/‖x‖²), and ℓ/(‖x‖² + 1/(2η₀)), scikit-learn's, to which the intercept is no feature of x.
    eta0 : float
        η₀; for "adagrad" and "ftrl" 1.0 works without tuning where the targets are of that size.
    power_t : float
        The exponent of "invscaling".
    batch_size : int
        Rows whose mean gradient makes one step.
    early_stopping : bool
        Stop by R² on held-out rows, or on `X_val`, `y_val` given to `fit`.
    validation_fraction : float
        The share of the rows that `early_stopping` holds out.
    n_iter_no_change : int
        Epochs without progress that end a fit.
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
    coef_ : array of shape (n_features,)
        θ; the mean of all θ_t with `average`. After `sparsify` a CSR of shape (1, n_features).
    intercept_ : array of shape (1,)
        b.
    n_iter_ : int
        Epochs run.
    history_ : list of dict
        One record an epoch: epoch, seconds, loss (the mean over the rows, each before its step), objective (their sum),
        updates, and validation_score where there is validation data.
    objective_ : float
        The last record's objective.
    converged_ : bool
        Whether a criterion ended the fit, or all epochs were wanted; False when `max_iter` came first.
    t_ : int
        Instances counted so far, and one.
    loss_functions : dict
        Of the class: each loss as a function of `fastlin.losses`, with its width where it has one.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import SGDRegressor
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = SGDRegressor(learning_rate="adagrad", eta0=1.0, penalty=None, max_iter=200, tol=None, random_state=0)
    >>> model.fit(X, [1.5, -1.0, 0.5, 2.0]).predict(X).round(2).tolist()
    [1.5, -1.0, 0.5, 2.0]
    """

    _parameters: ClassVar[ParameterTable] = OnlineLearner._parameters | DECAY | STEPWISE | {
        "loss": OneOf(*OF_RESIDUALS)
    }  # fmt: skip
    loss_functions: ClassVar[dict[str, tuple[Any, ...]]] = {name: LOSS_FUNCTIONS[name] for name in OF_RESIDUALS}

    def __init__(
        self,
        loss: ResidualLoss = "squared_error",
        *,
        penalty: WeightPenalty | None = "l2",
        alpha: float = 1e-4,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        intercept_decay: float | None = None,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        sampling: Sampling | None = None,
        verbose: int = 0,
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: LearningRate = "invscaling",
        eta0: float = 0.01,
        power_t: float = 0.25,
        batch_size: int = 1,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        average: bool | int = False,
        dtype: Any = None,
        callback: Any = None,
        grow_features: bool = False,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.intercept_decay = intercept_decay
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.sampling = sampling
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.average = average
        self.dtype = dtype
        self.callback = callback
        self.grow_features = grow_features

    @learns
    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Learn from scratch or, with `warm_start`, from the present weights.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Dense or sparse; a CSR of float32 or float64 with int32 indices is used where it lies.
        y : array of shape (n_samples,)
            Real numbers.
        coef_init, intercept_init : arrays in the shapes of `coef_` and `intercept_`, optional
            Where to start.
        sample_weight : array of shape (n_samples,), optional
            Scales the step of each row; rows of weight 0 are skipped.
        X_val, y_val : optional
            Validation data. Their R² is recorded in `history_` and, with `early_stopping`, decides when to stop.
        checkpoint : path, optional
            A file that says where the fit stands, written at the end of an epoch.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every end.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        model = self._working_copy()
        rows, data = model._read(X, y, sample_weight, validation.as_dtype(self.dtype), reset=True)
        dtype = self._dtype(rows)
        options = self._options(dtype, rows.dense)
        if len(data.weights) and not data.weights.any():
            raise ValueError("the weight of every row is zero (sample_weight): nothing to learn from")
        given = {"targets": data.targets, "weights": data.weights, "coef": coef_init, "intercept": intercept_init}
        given |= {"X_val": X_val, "y_val": y_val}
        split = peer_split(self.random_state, again=checkpoint is not None)

        def make_rows(members: Members, generator: np.random.Generator, training: TrainingState) -> RowSource:  # noqa: ARG001
            return options.targeted_source(data, members, generator)

        def hold_out(generator: np.random.Generator) -> tuple[Members, Any]:
            members, held = model._validation_rows(
                X_val, y_val, rows, data, lambda alike: split(alike, float(self.validation_fraction), generator)
            )
            return members, None if held is None else lambda: model._r2(held)

        def check_warm_start() -> None:
            if self.n_features_in_ != rows.n_features:
                raise ValueError("warm_start goes on with the same features; these differ: use partial_fit")

        fit = OnlineFit(
            rows, InMemoryDataset(data.rows), given, 1, dtype, options, hold_out, make_rows, check_warm_start,
            coef_init, intercept_init,
        )  # fmt: skip
        return self._run_fit(model, fit, model._install, checkpoint, checkpoint_interval, resume)

    @learns
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn one epoch of these rows on top of what is known.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Real numbers.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
            Ctrl-C, a step that would overflow and an error in the callback keep the steps taken so far; bad input is
            refused before the first.
        """
        model, first, dtype = self._begin_partial_fit()
        rows, data = model._read(X, y, sample_weight, dtype, reset=first)
        if self.grow_features:
            model._learn_names(X)
        dtype = self._dtype(rows) if dtype is None else dtype
        options = self._options(dtype, rows.dense)
        generator = validation.as_generator(self.random_state) if first else self._generator
        training = TrainingState((rows.n_features, 1), options.rule, rows.bounds)
        source = options.targeted_source(data, None, generator)
        check_rate(options.rule, 0 if first else int(self._state.clock["t"][0]), source.n_weighted())
        if first:
            model._install(OnlineState(options.rule, rows.n_features, 1, dtype), generator)

        def learn(state: OnlineState, turn: Turn) -> list[FitRecord]:
            return self._train_once(model, state, source, training, turn)

        return self._run_once(model, options, lambda: self._grow(model, rows.n_features), learn, first)

    # Parts

    def _rule(self) -> dict[str, Any]:
        return step_fields(self, "epsilon_insensitive")

    def _sampling(self) -> str:
        return super()._sampling() if self.sampling is None else self.sampling

    def _read(
        self, X: Any, y: Any, sample_weight: Any, dtype: np.dtype[Any] | None, reset: bool
    ) -> tuple[Dataset, TargetedRows]:
        """What to learn from, in the type of the weights; sets or compares the features' names."""
        rows = self._read_rows(X, reset, dtype=dtype)
        return rows, rows.targeted(y, sample_weight, estimator=type(self).__name__)

    def _validation_rows(
        self, X_val: Any, y_val: Any, rows: Dataset, data: TargetedRows, split: Callable[[Any], Split]
    ) -> tuple[Members, TargetedRows | None]:
        """(the rows to learn from, the rows to validate on, None: there are none)."""
        if X_val is not None or y_val is not None:
            return None, self._read_held_out(X_val, y_val, rows, dtype=self._dtype(rows))
        if not self.early_stopping:
            return None, None
        alike = np.zeros(len(data.rows), np.int32)
        members, chosen = split(alike)
        if len(chosen) < 2:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out {len(chosen)} of {len(alike)} rows, and R² "
                "is of two at least"
            )
        return members, TargetedRows(
            data.rows.take(chosen), data.targets[chosen], data.weights[chosen] if len(data.weights) else data.weights
        )

    def _r2(self, held: TargetedRows) -> float:
        """The share of the targets' variance that is explained."""
        weights = held.weights if len(held.weights) else None
        return float(r2_score(held.targets, self._scores(InMemoryDataset(held.rows))[:, 0], sample_weight=weights))

    def _grow(self, model: Self, n_features: int) -> OnlineState:
        """Make room for features, which others see from now on; who still reads the old state keeps it."""
        return self._replace_state(model, self._state.with_features(n_features))

    def _shaped(self, coef: Any) -> Any:
        return coef if sparse.issparse(coef) else coef[0]

    def _export_labels(self) -> dict[str, NDArray[Any]]:
        return {}

    def _restore_labels(self, arrays: dict[str, NDArray[Any]]) -> None:  # noqa: ARG002
        width, _ = self._weight_shape()
        if width != 1:
            raise ValueError(f"state has {width} columns of weights, and a regressor has one")
