"""Linear support vector machines by dual coordinate ascent, or by Newton's method; sparse ones by proximal Newton."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.dataset import Dataset
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.fit_records import FitCertificate, FitRecord
from fastlin.core.label_sets import check_set_weights
from fastlin.core.multilabel import CERTAIN_SCORE, LabelColumns, side_factors
from fastlin.core.sparse_estimator import Scorer, checkpoint_of, dense_scorer, sparse_scorer
from fastlin.data.scratch import ScratchArray
from fastlin.linear.batch_weights import BatchWeights
from fastlin.linear.svm_results import certify, keep_duals, kept_duals, warn_of_gap
from fastlin.optim.solvers import svm_dispatch
from fastlin.optim.solvers.svm_dual import label_blocks
from fastlin.optim.solvers.svm_l1 import SparseSvmSolver
from fastlin.optim.solvers.svm_problem import BlockOfLabels, SvmObjective, SvmProblem
from fastlin.optim.solvers.svm_steps import take_steps
from fastlin.runtime import parallel
from fastlin.validation.parameter_kinds import (
    BOOL,
    CLASS_WEIGHT,
    RUN,
    TRUTH,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

LOSSES = ("squared_hinge", "hinge")
MULTI_CLASS = ("ovr", "crammer_singer")


class SvmOptions(NamedTuple):
    """The parameters, checked."""

    C: float
    dual: str | bool
    squared: bool
    l1: bool
    joint: bool
    scaling: float
    tol: float
    max_iter: int


class LinearSVC(BatchWeights):
    """Linear support vector classification, solved until the duality gap says how good the answer is.

    Minimises ½‖θ‖² + C Σ_i w_i ℓ_i, the intercept among θ as the weight of a feature that is always
    `intercept_scaling`, as in LIBLINEAR. With y = ±1 a row's loss is ℓ = max(0, 1 − ys) or its square. More than two
    labels are one such problem each (one against the rest), or together Crammer and Singer's,
    ℓ = max_k(s_k + [k ≠ y]) − s_y, or its square.

    The dual is raised row by row, all labels of a row at once; rows with little to win rest. Of few columns, or where
    norms are so large that this is slow, the squared hinge is minimised by Newton's method.

    With penalty="l1" it is ‖θ‖₁ in the place of ½‖θ‖², for the squared hinge, one against the rest: most weights are
    zero. Proximal Newton finds which, of rows in memory, and proves the gap by a scaled dual point.

    Parameters
    ----------
    penalty : {"l2", "l1"}
        "l1" by loss="squared_hinge" and multi_class="ovr" alone.
    loss : {"squared_hinge", "hinge"}
    dual : {"auto", True, False}
        True is dual ascent; False Newton's method on the primal, where there is one: for the squared hinge, one against
        the rest, rows of one segment. "auto" chooses by what they cost, and changes to Newton's method where the dual
        is slow. Primal and dual have one optimum, and the gap between them ends the fit. With penalty="l1" there is no
        dual ascent: not True.
    tol : float
        The fit ends when (objective − dual objective) ≤ tol · objective, in each problem of one against the rest.
    C : float
        The weight of the losses.
    multi_class : {"ovr", "crammer_singer"}
        With two labels Crammer and Singer's problem is a binary one with 2C and half its objective.
    fit_intercept : bool
        Learn b, the weight of one more feature.
    intercept_scaling : float
        The value of that feature: b = intercept_scaling · weight, and the larger it is the less b is penalised.
    class_weight : dict, "balanced" or None
        Multiplies the weights of the rows of a label; of more than two labels, one against the rest, only in the
        problem of that label, as LIBLINEAR does. "balanced" is the factor that lets every label weigh the same.
    verbose : int
        1 prints a line an epoch.
    random_state : int, RandomState, Generator or None
        The seed of the orders in which rows are visited.
    max_iter : int
        Epochs, or steps of Newton's method, at most.
    n_jobs : int or None
        Threads, for labels against the rest in groups of eight and for predictions; the bits are the same.
    warm_start : bool
        Keep the dual variables, and begin the next `fit` from them if it has as many rows and the same labels. With
        penalty="l1" it begins from the weights, if it has the same labels and features.
    callback : callable or None
        `callback(model, record)` after every epoch; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two labels, else (n_labels, n_features)
        θ.
    intercept_ : array of shape (1,) or (n_labels,)
        b.
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    multilabel_ : bool
        Whether y was an indicator: a row may have several labels, and `classes_` are the numbers of its columns.
    n_iter_ : int
        Epochs run, and steps of Newton's method.
    history_ : list of dict
        One record an epoch, or step: epoch, seconds, dual (the dual objective), gap (at most what is left, as the rows
        last told), active (rows visited, or at a step those with a loss) and, where it has been measured, objective;
        the gap is then exact.
    objective_ : float
        The objective; with one against the rest, summed over the labels.
    converged_ : bool
        Whether the gap (or the callback) ended the fit; False when `max_iter` came first.
    certificate_ : dict
        objective, dual_objective and their difference duality_gap: no θ has an objective below dual_objective.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import LinearSVC
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = LinearSVC(tol=1e-6, random_state=0).fit(X, [0, 1, 2, 2])
    >>> model.predict(X).tolist()
    [0, 1, 2, 2]
    >>> model.certificate_["duality_gap"] <= 1e-6 * model.objective_
    True
    """

    _parameters: ClassVar[ParameterTable] = RUN | {
        "penalty": OneOf("l2", "l1"), "loss": OneOf(*LOSSES), "dual": BOOL | OneOf("auto"), "tol": Real(at_least=0),
        "C": Real(above=0, at_most=1e100), "multi_class": OneOf(*MULTI_CLASS), "fit_intercept": TRUTH,
        "intercept_scaling": Real(above=0, at_most=1e100), "class_weight": CLASS_WEIGHT,
        "max_iter": Integer(at_least=1), "warm_start": TRUTH,
    }  # fmt: skip

    _takes_indicators: ClassVar[bool] = True
    coef_: Any
    intercept_: NDArray[np.float64]
    history_: list[FitRecord]
    certificate_: FitCertificate
    classes_: NDArray[Any]
    _dual: tuple[list[int], list[ScratchArray]] | None  # rows and dual variables of each segment

    def __init__(
        self,
        penalty: Literal["l2", "l1"] = "l2",
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        *,
        dual: Literal["auto"] | bool = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: Literal["ovr", "crammer_singer"] = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Any = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
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
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Learn from these rows.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse; a CSR of float32 or float64 with int32 indices is used where it lies. A corpus is visited a
            segment at a time, in random orders of segments and of rows within them, and brings labels and weights.
        y : array of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Labels: strings or integers; or, sparse or dense, which labels each row has. None with a Corpus.
        sample_weight : array of shape (n_samples,), optional
            w: multiplies the loss of each row; rows of weight 0 are left out. None with a Corpus.
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
        model, options = self._working_copy(), self._options()
        generator = validation.as_generator(self.random_state)
        data = model._read_labelled(X, y, sample_weight, reset=True, dtype=np.dtype(np.float64))
        classes = data.classes
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        file = checkpoint_of(self, data, checkpoint, checkpoint_interval, resume, {})
        spread = None
        if data.label_sets is not None:
            spread = LabelColumns.varying_of(data.label_sets, data.codes(), data.weights())
        problem = SvmProblem(data, model._objective(data, options, spread), data.scratch())
        before = self._kept(problem, model, classes, spread)
        model.classes_ = classes
        (model._fit_l1 if options.l1 else model._fit_l2)(problem, options, generator, file, before, spread)
        self._take_fitted(model)
        if not model.converged_:
            self._warn()
        return self

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
            w·x + b of each label; of two labels one number a row.
        """
        scores = self._scores(self._checked_rows(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    # Parts

    def _fit_l2(
        self,
        problem: SvmProblem,
        options: SvmOptions,
        generator: np.random.Generator,
        file: CheckpointTarget,
        before: tuple[Any, Any] | None,
        spread: LabelColumns | None,
    ) -> None:
        blocks = label_blocks(problem, generator)
        with parallel.WorkerPool(self.n_jobs if len(blocks) > 1 else 1) as workers:
            monitor = FitMonitor(options.max_iter, make_callback(self, lambda: self._install(blocks, spread)), file)
            svm_dispatch.train(blocks, options.dual, options.tol, generator, workers, monitor, before)
        self._finish(blocks, monitor, spread)
        keep_duals(self, blocks, spread)

    def _fit_l1(
        self,
        problem: SvmProblem,
        options: SvmOptions,
        generator: np.random.Generator,  # noqa: ARG002 - nothing is drawn
        file: CheckpointTarget,
        before: tuple[Any, Any] | None,
        spread: LabelColumns | None,
    ) -> None:
        if len(problem.sizes) > 1:
            raise ValueError(
                f"penalty='l1' needs its rows in memory, and the corpus has {len(problem.sizes)} segments: "
                "X, y = corpus.to_memory(), or SGDClassifier(loss='squared_hinge', penalty='l1')"
            )
        with parallel.WorkerPool(self.n_jobs) as workers:
            solver = SparseSvmSolver(problem, options.tol, workers)
            if before is not None:
                solver.start_from(*before)
            report = make_callback(self, lambda: self._install(solver.blocks, spread))
            monitor = FitMonitor(options.max_iter, report, file)
            take_steps(solver, monitor)
        self._finish(solver.blocks, monitor, spread)
        self._dual = None

    def _options(self) -> SvmOptions:
        """Check every parameter."""
        check_parameters(self)
        l1, dual = self.penalty == "l1", self.dual if isinstance(self.dual, str) else bool(self.dual)
        if l1 and (self.loss == "hinge" or self.multi_class == "crammer_singer" or dual is True):
            raise ValueError(
                f"Unsupported set of arguments: The combination of penalty='l1' and loss={self.loss!r} is not "
                f"supported with dual={self.dual!r} and multi_class={self.multi_class!r}: an L1 norm wants "
                "loss='squared_hinge', multi_class='ovr' and no dual ascent"
            )
        if self.loss == "hinge" and dual is False and self.multi_class == "ovr":
            raise ValueError(
                "Unsupported set of arguments: The combination of penalty='l2' and loss='hinge' is not supported with "
                f"dual={self.dual!r}: the hinge loss has no second derivative, dual=True or 'auto' fits it"
            )
        return SvmOptions(
            C=float(self.C),
            dual=dual,
            squared=self.loss == "squared_hinge",
            l1=l1,
            joint=self.multi_class == "crammer_singer",
            scaling=float(self.intercept_scaling) if self.fit_intercept else 0.0,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )

    def _may_be_multilabel(self) -> bool:
        return self.multi_class == "ovr"

    def _objective(self, data: Dataset, options: SvmOptions, spread: LabelColumns | None) -> SvmObjective:
        """What is to be minimised."""
        n_columns, joint, codes, weights = (
            self._n_columns(len(data.classes)),
            options.joint,
            data.codes(),
            data.weights(),
        )
        if data.label_sets is not None and spread is not None:
            if joint:
                raise ValueError(
                    "multi_class='crammer_singer' is of labels of which each row has one; y is an indicator: use 'ovr'"
                )
            factors = side_factors(self.class_weight, data.label_sets, codes, weights)
            members, n_columns = data.label_sets.members()[:, spread.varying], len(spread.varying)
            objective = SvmObjective(
                options.C, None, n_columns, options.squared, False, options.scaling, 1.0, members=members
            )
            return objective if factors is None else replace(objective, side_factors=factors[:, spread.varying])
        return SvmObjective(
            options.C,
            validation.class_factors(self.class_weight, data.classes, codes, True, weights),
            n_columns,
            options.squared,
            joint and n_columns > 1,
            options.scaling,
            share=0.5 if joint and n_columns == 1 else 1.0,  # θ₁ = −θ₀ = w/2, so that ½‖θ‖² = ¼‖w‖²
        )

    def _warn(self) -> None:
        warn_of_gap(self)

    def _kept(
        self, problem: SvmProblem, model: Self, classes: NDArray[Any], spread: LabelColumns | None
    ) -> tuple[Any, NDArray[np.float64]] | None:
        """Of the last fit what a fit of a model to these labels can begin from, and the intercepts."""
        if not self.warm_start or not hasattr(self, "coef_") or not np.array_equal(self.classes_, classes):
            return None
        if (self._container is None) != (model._container is None):
            return None
        intercept = validation.as_vector(self.intercept_, "intercept_")
        if spread is not None:
            intercept = np.where(np.abs(intercept) >= CERTAIN_SCORE, 0.0, intercept)[spread.varying]
        if self.penalty == "l1":
            coef = validation.as_finite(self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_, "coef_", 2)
            coef = coef if spread is None or len(coef) != len(classes) else coef[spread.varying]
            same = coef.shape == (problem.objective.n_columns, problem.corpus.shape[1])
            return (coef, intercept) if same else None
        kept = kept_duals(self, problem)
        if kept is None or spread is None:
            return None if kept is None else (kept, intercept)
        with kept[0].map() as signed:
            return [ScratchArray(np.ascontiguousarray(signed[:, spread.varying]))], intercept

    def _install(self, blocks: Sequence[BlockOfLabels], spread: LabelColumns | None) -> Self:
        """Weights and intercepts as they are now."""
        weights = [block.weights for block in blocks]
        coef = weights[0] if len(weights) == 1 else np.concatenate(weights, axis=1)
        intercept = np.concatenate([block.problem.objective.scaling * block.bias for block in blocks])
        if spread is not None:
            coef, intercept = spread.weights(coef), spread.intercepts(intercept)
        self.coef_, self.intercept_ = coef.T, intercept
        return self

    def _finish(self, blocks: Sequence[BlockOfLabels], monitor: FitMonitor, spread: LabelColumns | None) -> None:
        self._install(blocks, spread)
        self.history_, self.n_iter_ = monitor.history, monitor.iterations
        certify(self, blocks)  # of all labels together, whatever one of them has left
        self.converged_ = monitor.converged or self.certificate_["duality_gap"] <= self.tol * self.objective_

    def _check_fitted(self) -> None:
        super()._check_fitted()
        check_set_weights(self, {self._n_columns(len(self.classes_))} if len(self.classes_) > 1 else set())
        self._check_sparse_weights()

    def _row_constraints(self) -> dict[str, Any]:
        return {"dtype": validation.as_real(self.coef_)}  # float32 from a file of quantised weights

    def _scorer(self) -> Scorer:
        if sp.issparse(self.coef_):
            return sparse_scorer(self.coef_, self.intercept_)
        dtype = validation.as_real(self.coef_)
        weights = self._dense_weights(self.n_features_in_, self._n_columns(len(self.classes_)), dtype)
        return dense_scorer(weights, np.ascontiguousarray(self.intercept_, np.float64), self.n_jobs)
