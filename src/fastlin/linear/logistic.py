"""Logistic regression, binary and multinomial: the conditional maximum-entropy model of rows and labels."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.dataset import Dataset, DatasetView, training_view
from fastlin.core.estimator import learns, reads
from fastlin.core.label_sets import check_set_weights
from fastlin.core.multilabel import CERTAIN_SCORE, LabelColumns, independent_probabilities, side_factors
from fastlin.core.sparse_estimator import Scorer, dense_scorer, probabilities, sparse_scorer
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.linear.batch_weights import BatchWeights
from fastlin.linear.label_columns import as_wide, centre_labels
from fastlin.linear.maxent import COUNTS, PENALTIES, MaxentClassifier, spread_out
from fastlin.linear.sparse_fit import fit_sparse
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.design import Design, largest_slopes
from fastlin.optim.likelihoods import Likelihood, MultinomialLikelihood, OneVsRestLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.solvers.dispatch import SOLVERS, automatic_after, dual_ascent
from fastlin.optim.warm_starts import start_in_span
from fastlin.optim.weight_groups import WeightGroups
from fastlin.optim.weight_layouts import DenseWeights, ObservedWeights, WeightLayout
from fastlin.runtime import parallel
from fastlin.validation import CSRRows
from fastlin.validation.choices import LogLinearSolver
from fastlin.validation.parameter_kinds import CLASS_WEIGHT, NUMBERS, TRUTH, Integer, Kind, OneOf, ParameterTable, Real

WEIGHTS = ("dense", "observed", "sparse")
MULTI_CLASS = ("auto", "multinomial", "ovr", "deprecated")
OF_ONE_LABEL = ("gis", "iis", "sgd", "adagrad")  # solvers of one model of labels of which each row has one


class LogisticRegression(BatchWeights, MaxentClassifier):
    """Logistic regression (maximum entropy), binary or truly multinomial, fitted to its optimum.

    Minimises Σ_i w_i (−log p(y_i | x_i)) + ½ Σ_jk (θ_jk − m_j)²/σ_j², the intercept unpenalised, where p is the softmax
    of the scores x·θ_k + b_k; two labels share one column of weights. Every solver has this one optimum. With
    multi_class="ovr" more labels have a binary model each, against the rest.

    Parameters
    ----------
    C : float
        σ², the variance of the prior, for every weight; `inf` is the plain maximum-likelihood model.
    penalty : {"elasticnet", "l2", "l1", "group", None, "deprecated"}
        "elasticnet" is (1/C)(r‖θ‖₁ + (1 − r)/2 ‖θ‖²) with r = `l1_ratio`, the Gaussian prior with its default 0;
        "l1" is r = 1; "group" is (1/C) Σ_j ‖θ_j‖₂, which chooses a feature for all labels or for none (two labels in
        one column: "l1"), by solver="auto" of rows in memory; None is C = inf; "deprecated", scikit-learn's default, is
        "elasticnet".
    l1_ratio : float
        r, the share of the L1 norm; by the solvers "auto", "newton" and "lbfgs".
    prior_variance : float or array of shape (n_features,), optional
        σ_j² for each feature in the place of C, with an L1 norm, too; `inf` leaves a feature unpenalised.
    prior_mean : float or array of shape (n_features,) or that of `coef_`, optional
        m, where the prior pulls the weights to: for instance another model's `coef_`.
    tol : float
        Stop when the duality gap ≤ tol · objective: a proof that the objective is so near its minimum. Without a prior
        on every weight there is none: stop when max |∂ objective| ≤ tol · Σ w. A solver by scikit-learn's name
        ("lbfgs", "newton-cg", "liblinear", …) wants the gap and half of that, and so is as exact as there.
    fit_intercept : bool
        Learn b, unpenalised.
    intercept_scaling : float
        Accepted for scikit-learn's sake; the optimum does not depend on it.
    dual : bool
        Whether "auto" is to begin with dual coordinate ascent where the dual exists, also where another solver is
        likely to be faster. The optimum is the same.
    multi_class : {"auto", "multinomial", "ovr", "deprecated"}
        Of more than two labels one model, or with "ovr" a binary one for each label against the rest, all fitted at
        once: the label of the highest score is predicted, and probabilities are the sigmoids made to sum to 1. "auto"
        and "deprecated", scikit-learn's default until 1.7, are "multinomial".
    class_weight : dict, "balanced" or None
        Multiplies the weights of the rows of a label; "balanced" lets every label weigh the same in total.
    random_state : int, RandomState, Generator or None
        The seed of the orders in which "auto", "sgd" and "adagrad" visit the rows; None is 0: the optimum does not
        depend on it.
    solver : str
        "auto" (dual coordinate ascent, Newton's method, L-BFGS, each where the one before gains no more; proximal
        Newton for an L1 term and rows in memory), "newton" (truncated, with Hessian products), "lbfgs", "cg"
        (Polak–Ribière), "gd" (steepest descent), "gis" and "iis" (generalised and improved iterative scaling), "sgd"
        (averaged) and "adagrad", which approach the optimum; scikit-learn's names are understood.
    max_iter : int
        Iterations at most; epochs for "sgd", "adagrad" and the first part of "auto".
    verbose : int
        1 prints a line a record of `history_`.
    warm_start : bool
        `fit` starts from the present weights.
    n_jobs : int or None
        Threads; they never change a bit of the model.
    weights : {"dense", "observed", "sparse"}
        "observed" has weights only for the (feature, label) pairs seen in at least `cutoff` rows; two labels keep two
        columns there. "sparse" needs memory for the weights that are not zero, while they are learnt, too, and makes
        `coef_` a CSR: for an L1 term, rows in memory and solver="auto". The optimum is that of "dense".
    cutoff : int or array of shape (n_features,)
        For weights="observed".
    dtype : {None, "float32", "float64"}
        Of `coef_`; None follows X. Sums are float64 in any case.
    callback : callable or None
        `callback(model, record)` after every record; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two labels in one column, else (n_labels, n_features)
        θ; a CSR with weights="sparse" and after `sparsify`.
    intercept_ : array of shape (1,) or (n_labels,)
        b.
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    multilabel_ : bool
        Whether y was an indicator: a row may have several labels, and `classes_` are the numbers of its columns.
    objective_ : float
        What was minimised, at the end.
    certificate_ : dict
        objective; gradient_norm, the largest |∂ objective|; moment_gap, the largest |observed − expected| count;
        entropy, Σ w H(p(·|x)); and, with a prior on every weight, duality_gap, a bound of how far the objective is
        from its minimum.
    history_ : list of dict
        One record an iteration (at "auto": a look at the gradient): iteration, seconds, objective, gradient_norm,
        passes over the data so far; duality_gap where one is known; validation_score where there is validation data.
    converged_ : bool
        Whether `tol` was reached; a warning says how far the fit is from it otherwise, and what helps.
    n_iter_ : array of shape (1,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import LogisticRegression
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = LogisticRegression(C=10).fit(X, ["a", "b", "c", "c"])
    >>> model.predict(X).tolist()
    ['a', 'b', 'c', 'c']
    >>> model.converged_, model.certificate_["gradient_norm"] < 1e-3
    (True, True)
    """

    _parameters: ClassVar[ParameterTable] = MaxentClassifier._parameters | {
        "fit_intercept": TRUTH, "class_weight": CLASS_WEIGHT, "intercept_scaling": Kind(Real().allows, "a number"),
        "dual": TRUTH, "multi_class": OneOf(*MULTI_CLASS),
        "weights": OneOf(*WEIGHTS), "cutoff": NUMBERS, "max_iter": Integer(at_least=0),
        "penalty": OneOf(*PENALTIES, "group"),
    }  # fmt: skip

    def __init__(
        self,
        *,
        C: float = 1.0,
        penalty: Literal["elasticnet", "l2", "l1", "deprecated", "group"] | None = "elasticnet",
        l1_ratio: float = 0.0,
        prior_variance: Any = None,
        prior_mean: Any = None,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        dual: bool = False,
        multi_class: Literal["auto", "multinomial", "ovr", "deprecated"] = "deprecated",
        class_weight: Any = None,
        random_state: Any = None,
        solver: LogLinearSolver = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        weights: Literal["dense", "observed", "sparse"] = "dense",
        cutoff: Any = 1,
        dtype: Any = None,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.prior_variance = prior_variance
        self.prior_mean = prior_mean
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.weights = weights
        self.cutoff = cutoff
        self.dtype = dtype
        self.callback = callback

    _takes_indicators: ClassVar[bool] = True
    coef_: Any
    intercept_: NDArray[np.float64]
    classes_: NDArray[Any]
    n_iter_: NDArray[np.int32]  # scikit-learn has an array of one number

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
        """Find the optimum.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse; a CSR of float32 or float64 with int32 indices is used where it lies. A corpus is read
            segment by segment, as often as the solver needs it.
        y : array of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Labels: strings or integers, at least two kinds; or, sparse or dense, which labels each row has. None with a
            corpus, which has labels.
        sample_weight : array of shape (n_samples,), optional
            w; rows of weight 0 are left out. None with a corpus.
        X_val, y_val : optional
            Validation data, whose accuracy is recorded in `history_`; a corpus comes without y_val.
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
        model = self._working_copy()
        solver = self._check_parameters()
        self._warn_of_penalty()
        counts = solver in COUNTS
        data = model._read_labelled(X, y, sample_weight, reset=True, nonnegative=counts)
        sample = training_view(data, self.class_weight)
        self._check_labels(sample, solver)
        evaluate = None
        if X_val is not None or y_val is not None:
            held = model._read_validation(X_val, y_val, sample.classes, data, dtype=model._type(data))
            evaluate = functools.partial(model._accuracy, held)
        file = self._checkpoint_of(data, checkpoint, checkpoint_interval, resume, X_val=X_val, y_val=y_val)
        model._fit_sample(sample, model._parts_of(sample, of_one_fit=True), evaluate, file)
        self._take_fitted(model)
        self._warn()
        return self

    def _fit_sample(
        self,
        sample: DatasetView,
        parts: Partitions,
        evaluate: Callable[[], float] | None = None,
        checkpoint: CheckpointTarget | None = None,
        before: Sequence["LogisticRegression"] = (),
    ) -> None:
        """Find the optimum for rows that are proved and laid out, from where models fitted `before` were, if any."""
        solver, n_features = self._check_parameters(), sample.n_features
        if self.weights == "sparse":
            fit_sparse(self, sample, parts, evaluate, checkpoint)
            return
        layout, spread = self._layout(parts, n_features, len(sample.classes)), _label_columns(sample)
        dtype = self._type(sample.dataset)
        kept = self.prior_mean is not None and self.weights == "dense"
        rest = self._means(n_features, layout.width) if kept else None  # the weights of columns that no row has
        with parallel.WorkerPool(self.n_jobs) as workers:
            prior = self._prior(parts, layout, n_features)
            problem = LogLinearProblem(parts, layout, prior, bool(self.fit_intercept), workers)
            theta = self._beginning(problem, sample.classes, n_features, before)
            self.classes_ = sample.classes

            def install(found: NDArray[np.float64]) -> None:
                centre_labels(problem, found)
                n = problem.n_weights
                weights = layout.to_matrix(found[:n])
                self.coef_ = spread_out(parts.features, n_features, weights, rest, dtype).T
                self.intercept_ = np.zeros(layout.width)
                self.intercept_[: problem.size - n] = found[n:]
                if spread is not None:
                    self.intercept_ = np.where(spread.scores == 0, self.intercept_, spread.scores)

            report = self._reporter(lambda: install(theta.copy()), evaluate)
            solve = SOLVERS[solver]
            if solver == "auto" and before and hasattr(before[0], "history_"):
                solve = automatic_after(before[0].history_)
            if solver == "auto" and self.dual:
                solve = dual_ascent
            self._optimise(problem, theta, solve, report, checkpoint)
            install(theta)
            if self.certificate_["moment_gap"] < parts.largest_left_out:
                self._compare_moments(sample, problem)

    def _compare_moments(self, sample: DatasetView, problem: LogLinearProblem) -> None:
        """Put the features that were left out into the certificate's largest |observed − expected| count."""
        ((rows, _, _),) = sample.blocks()
        with problem.partitions.open(0) as part:
            slopes = rows.matrix().T @ part.map(problem.residual)
        self.certificate_["moment_gap"] = max(self.certificate_["moment_gap"], float(np.abs(slopes).max(initial=0)))

    # What was learnt

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores, shape (n_samples, n_labels); for two labels (n_samples,), positive for `classes_[1]`.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples, n_labels), or (n_samples,)
            Log odds where there are two labels.
        """
        scores = self._scores(self._checked_rows(X))
        if len(self.classes_) > 2 or self._container is not None:
            return scores
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(label | row), columns as `classes_`.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Each row sums to 1, but for a model of several labels a row, whose columns stand by themselves.
        """
        return self._probabilities(X, logarithmic=False)

    @reads
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(label | row), columns as `classes_`.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Natural logarithms, finite where the probability itself is too small for a float.
        """
        return self._probabilities(X, logarithmic=True)

    # Parts

    def _probabilities(self, X: Any, logarithmic: bool) -> NDArray[np.float64]:
        scores = self._scores(self._checked_rows(X))
        if self._container is not None:
            return independent_probabilities(scores, logarithmic)
        if self._against_rest(len(self.classes_)):
            scores = independent_probabilities(scores, True)
        return probabilities(scores, len(self.classes_), logarithmic)

    def _may_be_multilabel(self) -> bool:
        return self.weights == "dense" and self.penalty != "group" and self.solver not in OF_ONE_LABEL

    def _against_rest(self, n_labels: int) -> bool:
        """Whether so many labels, of which each row has one, have a binary model each."""
        return self.multi_class == "ovr" and n_labels > 2

    def _check_labels(self, sample: DatasetView, solver: str) -> None:
        """Refuse what is of one model of all labels where each has its own."""
        if sample.dataset.label_sets is not None:
            reason = "of labels of which each row has one, and y is an indicator"
        elif self._against_rest(len(sample.classes)):
            reason = f"of one model of all labels, and multi_class='ovr' makes {len(sample.classes)}"
        else:
            return
        if self.weights != "dense":
            raise ValueError(f"weights={self.weights!r} is {reason}: use 'dense'")
        if self.penalty == "group":
            raise ValueError(f"penalty='group' is {reason}: use 'l1'")
        if solver in OF_ONE_LABEL:
            raise ValueError(f"solver={self.solver!r} is {reason}: use 'auto', 'newton', 'lbfgs', 'cg' or 'gd'")

    def _record(self, problem: LogLinearProblem, theta: NDArray[np.float64], monitor: ConvergenceMonitor) -> None:
        centre_labels(problem, theta)  # before: the prior says less of the weights that are handed out
        super()._record(problem, theta, monitor)
        self.n_iter_ = np.array([monitor.iterations], np.int32)

    def _type(self, data: Dataset) -> np.dtype[Any]:
        """The type of the weights."""
        exact = self.solver == "liblinear"  # whose weights are float64 in scikit-learn, too
        return validation.as_dtype(self.dtype) or (np.dtype(np.float64) if exact else data.dtype)

    def _parts_of(self, sample: DatasetView, of_one_fit: bool = False) -> Partitions:
        """The rows laid out, with labels of as many columns as there will be weights for.

        For one fit alone without the features that its L1 term leaves no weight.
        """
        n_labels = len(sample.classes)
        width = n_labels if self.weights == "observed" else self._n_columns(n_labels)
        tables = self._label_tables(sample)

        def blocks() -> Iterator[tuple[CSRRows, Likelihood]]:
            for rows, codes, weights in sample.blocks():
                if tables is None:
                    yield rows, MultinomialLikelihood(codes, weights, width)
                else:
                    yield rows, OneVsRestLikelihood(codes, weights, *tables, width)

        if sample.dataset.n_segments > 1:
            return Partitions.from_segments(blocks, sample.n_features, sample.dataset.scratch())
        ((rows, labels),) = blocks()
        l1, _ = self._strengths()
        simple = self.prior_variance is None and self.weights == "dense" and (self.penalty != "group" or width == 1)
        if of_one_fit and l1 > 0 and simple and isinstance(labels, MultinomialLikelihood):
            slopes = largest_slopes(rows, labels.codes, labels.weights, n_labels)
            parts = Partitions.single(Design.of_some(rows, slopes > l1), labels)
            parts.largest_left_out = float(slopes[slopes <= l1].max(initial=0))
            return parts
        return Partitions.single(Design.of(rows), labels)

    def _label_tables(self, sample: DatasetView) -> tuple[NDArray[np.uint8], NDArray[np.float64]] | None:
        """Where each label has its own model: which are in each set, and the factors of both sides of each label.

        These are 0 of a label that all rows have, or none: there is nothing to learn, and no weight leaves its prior.
        Where a row has one label its set is of that alone.
        """
        data, spread = sample.dataset, _label_columns(sample)
        if data.label_sets is None or spread is None:
            n_labels = len(sample.classes)
            return (np.eye(n_labels, dtype=np.uint8), np.empty((0, 0))) if self._against_rest(n_labels) else None
        factors = side_factors(self.class_weight, data.label_sets, data.codes(), data.weights())
        if factors is None:
            varies = spread.scores == 0
            factors = np.empty((0, 0)) if varies.all() else np.stack([varies, varies]).astype(np.float64)
        else:
            factors[:, spread.scores != 0] = 0.0
        return data.label_sets.members(), factors

    def _layout(self, parts: Partitions, n_features: int, n_labels: int) -> WeightLayout:
        cutoff = validation.as_cutoff(self.cutoff, n_features)
        if self.weights == "observed":
            return ObservedWeights.observed(parts, n_labels, cutoff[parts.features])
        if (cutoff > 1).any():
            raise ValueError("cutoff leaves out weights of pairs seen seldom: it needs weights='observed'")
        return DenseWeights(parts.n_features, self._n_columns(n_labels))

    def _check_parameters(self) -> str:
        solver = super()._check_parameters()
        if self.penalty == "group" and solver != "auto":
            raise ValueError(f"penalty='group' is fitted by solver='auto'; got solver={self.solver!r}")
        if self.weights == "sparse":
            if solver != "auto" or self.penalty == "group" or self._l1_share() == 0:
                raise ValueError(
                    "weights='sparse' is for an L1 term by solver='auto'; "
                    f"got penalty={self.penalty!r}, l1_ratio={self.l1_ratio!r}, solver={self.solver!r}"
                )
            if np.max(self.cutoff, initial=1) > 1:
                raise ValueError("cutoff leaves out weights of pairs seen seldom: it needs weights='observed'")
        return solver

    def _prior(self, parts: Partitions, layout: WeightLayout, n_features: int) -> WeightPrior:
        prior = super()._prior(parts, layout, n_features)
        if self.penalty != "group" or layout.width == 1:
            return prior
        if len(parts) > 1:
            raise ValueError(
                f"penalty='group' of {layout.width} labels needs its rows in memory, and the corpus has {len(parts)} "
                "segments: X, y = corpus.to_memory(), or penalty='l1'"
            )
        strengths = prior.l1 * (prior.l1_scale if len(prior.l1_scale) else np.ones(1))
        return replace(prior, groups=WeightGroups.of(layout.feature_columns()[0], strengths))

    def _beginning(
        self,
        problem: LogLinearProblem,
        classes: NDArray[Any],
        n_features: int,
        before: Sequence["LogisticRegression"],
    ) -> NDArray[np.float64]:
        """The best of what models fitted before span; zeros, the prior's means, or with warm_start the weights."""
        if before:
            return start_in_span(problem, [model._flat_weights(problem) for model in before])
        if self._continues(classes, n_features):
            return self._flat_weights(problem)
        theta = aligned_zeros((problem.size,))
        if len(problem.prior.mean):
            theta[: problem.n_weights] = problem.prior.mean
        return theta

    def _continues(self, classes: NDArray[Any], n_features: int) -> bool:
        """Whether the present weights are the start."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return False
        if not np.array_equal(self.classes_, classes) or self.coef_.shape[1] != n_features:
            raise ValueError("warm_start goes on with the same labels and features; these differ: fit a new model")
        return True

    def _flat_weights(self, problem: LogLinearProblem) -> NDArray[np.float64]:
        """The present weights as those of a problem."""
        theta, n = aligned_zeros((problem.size,)), problem.n_weights
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        coef = validation.as_finite(coef, "coef_", 2)
        intercept = validation.as_vector(self.intercept_, "intercept_")
        if self._container is not None:  # of a label that all rows had, or none, there is no weight to go on from
            intercept = np.where(np.abs(intercept) >= CERTAIN_SCORE, 0.0, intercept)
        both = as_wide(np.vstack([coef.T[problem.partitions.features], intercept]), problem.width)
        theta[:n] = problem.layout.from_matrix(both[:-1])
        theta[n:] = both[-1, : problem.size - n]
        return theta

    def _check_fitted(self) -> None:
        super()._check_fitted()
        check_set_weights(
            self, {self._n_columns(len(self.classes_)), len(self.classes_)} if len(self.classes_) > 1 else set()
        )
        self._check_sparse_weights()

    def _row_constraints(self) -> dict[str, Any]:
        return {"dtype": validation.as_real(self.coef_)}

    def _scorer(self) -> Scorer:
        if sp.issparse(self.coef_):
            return sparse_scorer(self.coef_, self.intercept_)
        width = max(len(self.intercept_), self._n_columns(len(self.classes_)))
        weights = self._dense_weights(self.n_features_in_, width, validation.as_real(self.coef_))
        return dense_scorer(weights, np.ascontiguousarray(self.intercept_, np.float64), self.n_jobs)


def _label_columns(sample: DatasetView) -> LabelColumns | None:
    """Where a row may have several labels, those that some rows have and others do not."""
    data = sample.dataset
    return None if data.label_sets is None else LabelColumns.varying_of(data.label_sets, data.codes(), data.weights())
