"""K-means of sparse rows: hard and soft, Euclidean and on the sphere."""

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from fastlin import validation
from fastlin.cluster.kmeans_data import (
    MAX_ABS_CENTRE,
    as_centres,
    first_centres,
    lay_out,
    normalize_centres,
    normalize_rows,
    scaled,
)
from fastlin.cluster.kmeans_steps import KMeansState, make_step, squares
from fastlin.cluster.lloyd import LloydRun, run_lloyd
from fastlin.cluster.seeding import RowPartitions, squared_norms
from fastlin.core.callbacks import Report, make_callback
from fastlin.core.dataset import Dataset
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.restarts import Restarts, decisive_limits
from fastlin.core.sparse_estimator import Scorer, SparseEstimator, checkpoint_of, dense_scorer
from fastlin.runtime import parallel
from fastlin.validation import MAX_COLUMNS, CSRRows, number_of_parts, one_of, real_number
from fastlin.validation.parameter_kinds import (
    ABSENT,
    NUMBERS,
    RUN,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

INITS = ("k-means++", "random")
METRICS = ("euclidean", "spherical")
ALGORITHMS = ("lloyd", "elkan")
RUNS = 10  # from random rows, where n_init is "auto"


class KMeansOptions(NamedTuple):
    """The parameters, checked."""

    n_clusters: int
    init: Any  # one of INITS, centres or a callable
    n_init: int
    max_iter: int
    tol: float
    spherical: bool
    temperature: float | None


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, SparseEstimator):
    """K-means clustering: scikit-learn's, and its soft and spherical forms, made for sparse rows.

    Minimises the inertia Σ_i w_i min_k d(x_i, c_k) in turns: every row goes to its nearest centre, every centre to the
    mean of its rows. The objective never rises. d is ‖x − c‖² or, `metric="spherical"`, 1 − cos(x, c); the centres are
    of norm 1 then, and an empty row, which has no direction, has d = 1 from all.

    With a `temperature` t rows belong to all centres: Σ_i w_i (−t' log (1/K) Σ_k exp(−d(x_i, c_k)/t')) never rises,
    where t' = 2t, and t on the sphere. It is the likelihood of K equal Gaussians of variance t, and tends to the
    inertia as t → 0.

    From the same centres the hard Euclidean form goes through scikit-learn's iterations. A cluster that dies is given
    the row that lies farthest from its centre; where all rows lie on centres, as when there are no more distinct rows
    than clusters, the surplus centres lie where the heaviest cluster's is and have no rows.

    Parameters
    ----------
    n_clusters : int
        K; more than there are rows, too.
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or callable
        Where to begin: at rows far apart (the best of 2 + log K drawn at every step), at random rows, at these
        centres, or at those that `init(X, n_clusters, random_state)` returns.
    n_init : "auto" or int
        Fits from so many starts, the best of which is kept; "auto" is 10 for "random" and callables, else 1.
    max_iter : int
        Iterations at most, from each start.
    tol : float
        A fit ends when no row has changed its cluster, or when Σ_k ‖c_k' − c_k‖² is at most `tol` times the mean
        variance of the features.
    verbose : int
        1 prints a line an iteration.
    random_state : int, RandomState, Generator or None
        The seed of the starts.
    copy_x : bool
        Accepted for scikit-learn's sake: X is never changed.
    algorithm : {"lloyd", "elkan"}
        Accepted for scikit-learn's sake: both have one result, and there is one way here.
    metric : {"euclidean", "spherical"}
        d.
    temperature : float or None
        t of the soft form; None is the hard one.
    n_jobs : int or None
        Threads; they never change a bit.
    callback : callable or None
        `callback(model, record)` after every iteration; a true answer ends the fit.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        c.
    labels_ : array of shape (n_samples,)
        The nearest centre of each row.
    inertia_ : float
        Σ w d of every row and its nearest centre.
    objective_ : float
        What was minimised: the inertia, or its soft form.
    history_ : list of dict
        One record an iteration of the best fit: iteration, seconds, objective (before the centres move), movement
        (Σ_k ‖c_k' − c_k‖²), relocated (clusters that had died and were given a row) and, of the hard form, changed
        (rows that have changed their cluster).
    converged_ : bool
        Whether `tol` (or the callback) ended the fit; False when `max_iter` came first.
    n_iter_ : int
        Iterations of the best fit.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import KMeans
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [2, 0, 0], [0, 0, 3], [0, 1, 3]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    >>> model.inertia_
    1.0
    """

    _parameters: ClassVar[ParameterTable] = RUN | {
        "n_clusters": Integer(
            at_least=1, at_most=MAX_COLUMNS, excess="n_clusters is {value}; at most {most} are supported"
        ),
        "init": OneOf(*INITS) | NUMBERS, "n_init": OneOf("auto") | Integer(at_least=1),
        "max_iter": Integer(at_least=1), "tol": Real(at_least=0), "copy_x": OneOf(True, False),
        "algorithm": OneOf(*ALGORITHMS), "metric": OneOf(*METRICS),
        "temperature": Real(above=0, at_most=MAX_ABS_CENTRE) | ABSENT,
    }  # fmt: skip

    cluster_centers_: NDArray[np.float64]
    labels_: NDArray[np.int32]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        metric: str = "euclidean",
        temperature: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.metric = metric
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.callback = callback

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn passes it
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Cluster these rows.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse. A corpus is laid out on disk where it lies there; its labels are left aside, its weights
            count.
        y : None
            Left aside.
        sample_weight : array of shape (n_samples,), optional
            w; None with a Corpus.
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
        model, options = self._working_copy(), self._options()
        rows = model._read_rows(X, True, **self._row_constraints()).unlabelled(sample_weight).dataset
        number_of_parts("n_clusters", self.n_clusters, len(rows))
        limits = decisive_limits(options.n_init, self.max_iter, self.tol)
        file = checkpoint_of(self, rows, checkpoint, checkpoint_interval, resume, limits)
        monitor = FitMonitor(options.max_iter, checkpoint=file)
        generator = monitor.register_generator(validation.as_generator(self.random_state))
        weights, factor = scaled(rows.weights())
        pieces = _row_partitions(rows, options.spherical)
        scratch = rows.scratch() if len(pieces) > 1 else None
        points, variance = lay_out(lambda: pieces, rows.n_features, weights, options.spherical, scratch)

        def begin() -> NDArray[np.float64]:
            n, rng = options.n_clusters, generator.generator
            if isinstance(options.init, str):
                data = parallel.WorkerPool(self.n_jobs).passes(pieces)
                start = first_centres(options.init, data, points, n, rng, options.spherical)
            else:
                start = _given(rows, options, rng)
            return normalize_centres(start) if options.spherical else start

        with parallel.WorkerPool(self.n_jobs) as workers:
            step = make_step(points, options.n_clusters, options.spherical, options.temperature, workers)
            monitor.report = model._reporter(step, factor)
            restarts = Restarts(monitor, options.n_init, LloydRun.state_dict, partial(LloydRun.restored, step))
            best = restarts.best(lambda: run_lloyd(step, begin, options.tol * variance, monitor), generator)
        model.cluster_centers_, model.labels_, model.inertia_ = best.centres, best.labels, factor * best.inertia
        model.objective_, model.history_, model.converged_ = factor * best.objective, best.history, best.converged
        model.n_iter_ = len(best.history)
        self._take_fitted(model)
        distinct = len(np.unique(best.labels))
        if distinct < options.n_clusters and options.temperature is None:
            warnings.warn(
                f"{distinct} of n_clusters={options.n_clusters} clusters have rows: X may have too few rows, or too "
                "few that differ",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    @learns
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:  # noqa: ARG002
        """`fit`, and the clusters of the rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    @learns
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.float64]:  # noqa: ARG002
        """`fit`, and the distances of the rows from the centres."""
        return self.fit(X, sample_weight=sample_weight)._distances(X)

    @reads
    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest centre of each row of X, a matrix or a `Corpus`; the first among equals."""
        rows = self._checked_rows(X)
        labels = np.empty(len(rows), np.int32)

        def use(scores: NDArray[np.float64], start: int, stop: int) -> None:
            labels[start:stop] = scores.argmax(axis=1)

        self._forward(rows, self._scorer(), use)
        return labels

    @reads
    def transform(self, X: Any) -> NDArray[np.float64]:
        """The distances of the rows from the centres, [n, K]: ‖x − c‖, on the sphere 1 − cos."""
        return self._distances(X)

    @reads
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """What `fit` minimises, of these rows and with a minus.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : None
            Left aside.
        sample_weight : array of shape (n_samples,), optional
            w; None with a Corpus.
        """
        rows = self._checked_rows(X)
        weights = rows.sample_weights(sample_weight)
        costs, width = np.empty(len(rows)), self._width()

        def use(distances: NDArray[np.float64], start: int, stop: int) -> None:
            lowest = distances.min(axis=1)
            costs[start:stop] = lowest
            if width is not None:
                costs[start:stop] -= width * np.log(_kernel(distances, lowest, width).mean(axis=1))

        self._measure(rows, use)
        return -float(np.sum(costs * weights if len(weights) else costs))

    @available_if(lambda self: self.temperature is not None)
    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The share of each centre in each row of X, [n, K]; of the soft form only."""
        rows, width = self._checked_rows(X), self._width()
        assert width is not None
        shares = np.empty((len(rows), len(self.cluster_centers_)))

        def use(distances: NDArray[np.float64], start: int, stop: int) -> None:
            kernel = _kernel(distances, distances.min(axis=1), width)
            shares[start:stop] = kernel / kernel.sum(axis=1, keepdims=True)

        self._measure(rows, use)
        return shares

    # Parts

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def _options(self) -> KMeansOptions:
        """Check every parameter."""
        check_parameters(self)
        init = self.init
        if isinstance(init, str):
            one_of("init", init, INITS)
        elif not callable(init):
            init = validation.as_finite(init, "init", 2)
        if isinstance(self.n_init, str):
            n_init = RUNS if callable(init) or (isinstance(init, str) and init == "random") else 1
        else:
            n_init = int(self.n_init)
            if isinstance(init, np.ndarray) and n_init > 1:
                message = f"init is an array: one fit from it, not n_init={n_init}"
                warnings.warn(message, RuntimeWarning, stacklevel=3)
                n_init = 1
        return KMeansOptions(
            n_clusters=int(self.n_clusters),
            init=init,
            n_init=n_init,
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            spherical=self._spherical(),
            temperature=self.temperature,
        )

    def _spherical(self) -> bool:
        return bool(one_of("metric", self.metric, METRICS) == "spherical")

    def _width(self) -> float | None:
        """t' of the soft form."""
        if self.temperature is None:
            return None
        temperature = real_number("temperature", self.temperature, above=0, at_most=MAX_ABS_CENTRE)
        return temperature if self._spherical() else 2 * temperature

    def _iter_segments(self, rows: Dataset) -> Iterable[tuple[int, CSRRows]]:
        segments = super()._iter_segments(rows)
        return ((start, normalize_rows(part)) for start, part in segments) if self._spherical() else segments

    def _check_fitted(self) -> None:
        super()._check_fitted()
        shape = np.shape(self.cluster_centers_)  # users may set it
        if len(shape) != 2 or shape[1] != self.n_features_in_ or not shape[0]:
            raise ValueError(
                f"cluster_centers_ of shape {shape} does not fit n_features_in_ = {self.n_features_in_!r:.60} features"
            )

    def _scorer(self) -> Scorer:
        centres = validation.as_finite(self.cluster_centers_, "cluster_centers_", 2)
        shift = np.zeros(len(centres)) if self._spherical() else 0.5 * squares(centres.T)
        return dense_scorer(np.ascontiguousarray(centres.T), -shift, self.n_jobs)

    def _measure(self, rows: Dataset, use: Callable[[NDArray[np.float64], int, int], None]) -> None:
        """d of all centres goes to `use`, a block of rows at a time."""
        spherical = self._spherical()
        norms = (
            np.ones(0) if spherical else np.concatenate([squared_norms(part) for _, part in self._iter_segments(rows)])
        )

        def infer(scores: NDArray[np.float64], start: int, stop: int) -> None:
            distances = 1 - scores if spherical else norms[start:stop, np.newaxis] - 2 * scores
            use(np.maximum(distances, 0.0), start, stop)

        self._forward(rows, self._scorer(), infer)

    def _distances(self, X: Any) -> NDArray[np.float64]:
        rows = self._checked_rows(X)
        whole = np.empty((len(rows), len(self.cluster_centers_)))
        self._measure(rows, lambda distances, start, stop: np.copyto(whole[start:stop], distances))
        return whole if self._spherical() else np.sqrt(whole, out=whole)

    def _reporter(self, step: KMeansState, factor: float) -> Report:
        """What happens after each iteration, whose objective is to be multiplied."""
        report = make_callback(self, lambda: self._placed(step))

        def of_record(record: dict[str, Any]) -> Any:
            record["objective"] *= factor
            return report is not None and report(record)

        return of_record

    def _placed(self, step: KMeansState) -> Self:
        self.cluster_centers_ = step.centres()
        return self


def _row_partitions(rows: Dataset, spherical: bool) -> RowPartitions:
    """The segments as they are clustered; of rows in memory, made ready once."""

    def read(index: int) -> tuple[int, CSRRows]:
        segment = rows.segment(index)
        return segment.start, normalize_rows(segment.rows) if spherical else segment.rows

    if rows.n_segments > 1:
        return RowPartitions(read, rows.n_segments)
    whole = read(0)
    return RowPartitions(lambda _: whole, 1)


def _given(rows: Dataset, options: KMeansOptions, generator: np.random.Generator) -> NDArray[np.float64]:
    """The centres that the user gives, or whose function does."""
    init = options.init
    if callable(init):
        state = np.random.RandomState(int(generator.integers(2**31)))
        init = init(rows.as_input(), options.n_clusters, random_state=state)
    return as_centres(init, options.n_clusters, rows.n_features)


def _kernel(distances: NDArray[np.float64], lowest: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """exp(−(d − min d) / t')."""
    with np.errstate(over="ignore", under="ignore"):
        return np.exp((lowest[:, np.newaxis] - distances) / width)
