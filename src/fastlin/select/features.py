"""The estimator that selects: greedy induction of features, or the best by a score of their own."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from fastlin import validation
from fastlin.core.callbacks import log_record
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.dataset import DatasetView, read_dataset, read_validation, training_view
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.fit_records import FitRecord
from fastlin.core.label_sets import n_weight_columns
from fastlin.core.sparse_estimator import checkpoint_of
from fastlin.linear.logistic import LogisticRegression
from fastlin.linear.maxent import COUNTS
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.solvers.dispatch import ALIASES, SOLVERS
from fastlin.runtime import parallel
from fastlin.select.induction import Induction
from fastlin.select.label_counts import feature_counts, presence
from fastlin.select.rounds import Rounds, Validation
from fastlin.select.scores import chi_squared, gains_of_presence
from fastlin.select.selector import Selector, check_columns_of
from fastlin.validation.choices import LogLinearSolver
from fastlin.validation.parameter_kinds import (
    ABSENT,
    RUN,
    TRUTH,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

METHODS = ("greedy", "information_gain", "chi2", "count")


class SelectFeatures(Selector):
    """Keeps the features that a maximum-entropy model gains most from, or those of the highest score.

    method="greedy" grows a model from nothing. In every round, the gain of a feature f is what its best weight alone
    would take off the objective Σ_i w_i (−log p(y_i | x_i)) + ‖θ‖²/2C of the model so far,

        gain(f) = max_α Σ_i w_i (log p_αf(y_i | x_i) − log p(y_i | x_i)) − α²/2C,

    computed for all inactive features at once; the best are added and the whole model is fitted again. With more than
    two labels a feature's gain is that of its best label, and all its weights enter the model.

    Parameters
    ----------
    n_features : int or None
        How many to keep; fewer if another rule stops before. None: all that gain `min_gain`.
    method : {"greedy", "information_gain", "chi2", "count"}
        What features are ranked by; "count" is the number of rows that have the feature.
    C : float
        σ², the variance of the Gaussian prior; `inf` for none.
    fit_intercept : bool
        Begin with an intercept, unpenalised.
    step : int or float
        How many features to add in a round, at most: a number, or a share of those active (at least 1). 1 is the exact
        greedy algorithm. Of features whose rows largely coincide, a round adds only the best.
    min_gain : float
        A feature that gains less (by another method: scores less) is not added; nor, by "greedy", one without a gain.
    patience : int or None
        End when the accuracy on X_val has not risen for so many rounds, and keep the features of the best round.
    solver, tol, max_iter
        How the model is fitted, as in `LogisticRegression`; between the rounds "auto" is Newton's method, and max |∂
        objective| ≤ tol · Σ w ends a fit.
    random_state : int, RandomState, Generator or None
        For solvers that visit rows in random order.
    n_jobs : int or None
        Threads; they never change a bit.
    verbose : int
        1 prints a line a round.
    callback : callable or None
        `callback(model, record)` after every round; a true answer ends the fit.

    Attributes
    ----------
    order_ : array of int
        The columns kept, in the order of their addition.
    gains_ : array of shape of `order_`
        What each gained when it was added; its score, by another method.
    support_ : array of bool, shape (n_features_in_,)
        Which columns are kept.
    estimator_ : LogisticRegression
        The model of the columns kept: `estimator_.predict(selector.transform(X))`.
    history_ : list of dict
        One record a round: n_features, objective, log_likelihood, gain (the highest of the features just added),
        seconds and, where there is validation data, validation_score.
    n_iter_ : int
        The number of rounds.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin.select import SelectFeatures
    >>> X = [[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1]] * 5
    >>> selector = SelectFeatures(n_features=1).fit(X, ["a", "a", "b", "b"] * 5)
    >>> selector.get_support().tolist(), selector.gains_.round(2).tolist()
    ([True, False, False], [3.81])
    >>> selector.estimator_.predict(selector.transform([[1, 0, 0], [0, 0, 0]])).tolist()
    ['a', 'b']
    """

    _parameters: ClassVar[ParameterTable] = RUN | {
        "n_features": Integer(at_least=1) | ABSENT, "method": OneOf(*METHODS), "C": Real(above=0),
        "fit_intercept": TRUTH, "step": Real(above=0, below=1) | Integer(at_least=1), "min_gain": Real(at_least=0),
        "patience": Integer(at_least=1) | ABSENT, "solver": OneOf(*SOLVERS, *ALIASES), "tol": Real(at_least=0),
        "max_iter": Integer(at_least=1),
    }  # fmt: skip

    def __init__(
        self,
        n_features: int | None = None,
        *,
        method: Literal["greedy", "information_gain", "chi2", "count"] = "greedy",
        C: float = 1.0,
        fit_intercept: bool = True,
        step: float = 0.1,
        min_gain: float = 0.0,
        patience: int | None = None,
        solver: LogLinearSolver = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.n_features = n_features
        self.method = method
        self.C = C
        self.fit_intercept = fit_intercept
        self.step = step
        self.min_gain = min_gain
        self.patience = patience
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    order_: NDArray[np.int64]
    gains_: NDArray[np.float64]
    support_: NDArray[np.bool_]
    estimator_: LogisticRegression
    history_: list[FitRecord]
    n_iter_: int
    n_features_in_: int

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Choose the features.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse; counts (not negative) unless method="greedy", which takes a corpus of one segment only.
        y : array of shape (n_samples,)
            Labels: strings or integers, at least two kinds; None with a corpus, which has them.
        sample_weight : array of shape (n_samples,), optional
            w; rows of weight 0 are left out. None with a corpus.
        X_val, y_val : optional
            Validation data, in memory, whose accuracy is recorded in `history_`.
        checkpoint : path, optional
            A file that says where the fit stands, written between two rounds and, of the last fit, iterations.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every round.
        resume : bool
            Go on from the checkpoint, if it exists: the result is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        model = self._working_copy()
        solver = model._check_parameters()
        counts = model.method != "greedy" or solver in COUNTS
        data = training_view(read_dataset(X, y, sample_weight, estimator=type(self).__name__, nonnegative=counts))
        validate_data(model, X, reset=True, skip_check_array=True)
        if model.method == "greedy" and data.dataset.n_segments > 1:
            raise ValueError(
                f"method='greedy' needs the rows in memory, and X is a Corpus of {data.dataset.n_segments} segments: "
                "X, y = corpus.to_memory(), if they fit, or another method"
            )
        if model.n_features is not None and model.n_features > data.n_features:
            raise ValueError(f"n_features={model.n_features} is more than the {data.n_features} columns of X")
        held = None
        if X_val is not None or y_val is not None:
            held = model._read_validation(X_val, y_val, data)
        elif model.patience is not None:
            raise ValueError("patience looks at the accuracy on validation data: give X_val and y_val to fit")
        given = {"X_val": X_val, "y_val": y_val, "max_iter": self.max_iter, "tol": self.tol}  # rounds end by these
        file = checkpoint_of(model, data.dataset, checkpoint, checkpoint_interval, resume, given)
        monitor = FitMonitor(data.n_features, model._report, file)
        if model.method == "greedy":
            model._induce(data, held, solver, monitor)
        else:
            model._rank(data, held, monitor)
        return self._take_fitted(model)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        check_columns_of(self, "support_", "b")
        return self.support_

    # Parts

    def _check_parameters(self) -> str:
        """Check what does not depend on the data; returns the solver of the rounds."""
        check_parameters(self)
        if self.patience is not None and self.method != "greedy":
            raise ValueError(f"patience belongs to method='greedy'; method={self.method!r} has no rounds")
        solver = ALIASES.get(self.solver, self.solver)
        return "newton" if solver == "auto" else solver

    def _read_validation(self, X: Any, y: Any, data: DatasetView) -> Validation:
        held = read_validation(X, y, data.classes, data.dataset, estimator=type(self).__name__)
        if held.dataset.rows is None:
            raise ValueError("X_val must be in memory: X_val, y_val = corpus.to_memory()")
        validate_data(self, X, reset=False, skip_check_array=True)
        return Validation(held.dataset.rows, held.codes(), n_weight_columns(len(data.classes)))

    def _induce(self, data: DatasetView, held: Validation | None, solver: str, monitor: FitMonitor) -> None:
        """Grow a model."""
        ((rows, codes, weights),) = data.blocks()
        design, labels = Design.of(rows), MultinomialLikelihood(codes, weights, n_weight_columns(len(data.classes)))
        generator = validation.as_generator(self.random_state)
        with parallel.WorkerPool(self.n_jobs) as workers:
            induction = Induction(design, labels, 1 / float(self.C), bool(self.fit_intercept), workers)

            def refit() -> float:
                return induction.refit(SOLVERS[solver], self.tol, self.max_iter, generator)

            def report(record: dict[str, Any]) -> bool:
                if self.callback is not None:
                    self._install(data, rounds)
                return self._report(record)

            monitor.report = report
            rounds = Rounds(induction, held, monitor, generator, refit)
            most = design.n_features if self.n_features is None else self.n_features
            rounds.run(most, self.step, float(self.min_gain), self.patience)
        self._install(data, rounds)
        self._finish(data, monitor.nested("model"))

    def _install(self, data: DatasetView, rounds: Rounds) -> None:
        """What the rounds so far have come to."""
        induction = rounds.induction
        self.order_ = induction.design.features[induction.active]
        self.gains_ = np.array(rounds.gains)
        self.history_, self.n_iter_ = rounds.monitor.history, len(rounds.monitor.history)
        self._support(data)
        self.estimator_.coef_ = np.ascontiguousarray(induction.weights[np.argsort(self.order_)].T)
        self.estimator_.intercept_ = induction.intercept

    def _rank(self, data: DatasetView, held: Validation | None, monitor: FitMonitor) -> None:
        """Choose by a score of each feature alone."""
        if self.method == "count":
            scores = feature_counts(data, presence, self.n_jobs).sum(axis=1)
        elif self.method == "chi2":
            scores = np.nan_to_num(chi_squared(data, self.n_jobs)[0], nan=0.0)
        else:
            scores = gains_of_presence(data, self.n_jobs)
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] >= self.min_gain][: self.n_features]
        self.order_, self.gains_ = order, scores[order]
        self._support(data)
        width = n_weight_columns(len(data.classes))
        self.estimator_.coef_, self.estimator_.intercept_ = np.zeros((width, len(order))), np.zeros(width)
        self._finish(data, monitor.checkpoint)
        objective = self.estimator_.objective_
        penalty = 0.5 / float(self.C) * float(np.square(self.estimator_.coef_).sum())
        record = {"n_features": len(order), "objective": objective, "log_likelihood": penalty - objective}
        record |= {"gain": float(self.gains_[0]), "seconds": monitor.seconds}
        if held is not None:
            kept = np.flatnonzero(self.support_)
            record["validation_score"] = held.accuracy(kept, self.estimator_.coef_.T, self.estimator_.intercept_)
        self.history_, self.n_iter_ = monitor.history, 1
        monitor.log_record(record)

    def _support(self, data: DatasetView) -> None:
        """The mask of `order_`, and a model of those columns without weights."""
        self.support_ = np.zeros(data.n_features, bool)
        self.support_[self.order_] = True
        self.estimator_ = LogisticRegression(
            C=self.C, fit_intercept=self.fit_intercept, solver=self.solver, tol=self.tol, max_iter=self.max_iter,
            random_state=self.random_state, n_jobs=self.n_jobs,
        )  # fmt: skip
        self.estimator_.classes_, self.estimator_.n_features_in_ = data.classes, len(self.order_)

    def _finish(self, data: DatasetView, checkpoint: CheckpointTarget | None) -> None:
        """Fit the model of the columns kept, from the weights it has."""
        if not len(self.order_):
            gain = f"min_gain={self.min_gain:g}"
            raise ValueError(f"nothing to select: no feature gains {gain} or more by method={self.method!r}")
        model, sample = self.estimator_.set_params(warm_start=True), data.restricted(np.flatnonzero(self.support_))
        model._check_parameters()
        model._fit_sample(sample, model._parts_of(sample), checkpoint=checkpoint)
        model.set_params(warm_start=False)._warn()

    def _report(self, record: dict[str, Any]) -> bool:
        """Log a record, and show it to the callback; whether to end."""
        score = f"  validation {record['validation_score']:.4f}" if "validation_score" in record else ""
        log_record(
            self,
            record,
            f"{record['n_features']} features  {record['seconds']:.2f} s  "
            f"objective {record['objective']:.8g}  gain {record['gain']:.4g}{score}",
        )
        return self.callback is not None and bool(self.callback(self, record))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.method != "greedy"
        tags.target_tags.required = True
        return tags
