"""K-means of sparse rows: hard and soft, Euclidean and on the sphere."""

import warnings
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from fastlin import validation
from fastlin.cluster.centre_model import CentreModel, soft_kernel
from fastlin.cluster.few_clusters import FEW_CLUSTERS, make_step
from fastlin.cluster.kmeans_data import (
    MAX_ABS_CENTRE,
    as_centres,
    first_centres,
    lay_out,
    normalize_centres,
    normalize_rows,
    scaled,
)
from fastlin.cluster.kmeans_steps import KMeansState
from fastlin.cluster.lloyd import LloydRun, run_lloyd
from fastlin.cluster.seeding import RowPartitions
from fastlin.core.callbacks import Report, make_callback, tell
from fastlin.core.dataset import Dataset
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.restarts import Restarts, decisive_limits
from fastlin.core.sparse_estimator import checkpoint_of
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


class KMeans(CentreModel):
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
        n_init: Literal["auto"] | int = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: Literal["lloyd", "elkan"] = "lloyd",
        metric: Literal["euclidean", "spherical"] = "euclidean",
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
        few = options.temperature is None and 1 < options.n_clusters <= FEW_CLUSTERS
        points, threshold = lay_out(
            lambda: pieces, rows.n_features, weights, options.spherical, scratch, options.tol, few
        )

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
            best = restarts.best(lambda: run_lloyd(step, begin, threshold, monitor, partial(tell, self)), generator)
        monitor.forget("starts")  # which knows the monitor: nobody waits for a collection to free all of the rows
        model.cluster_centers_, model.labels_, model.inertia_ = best.centres, best.labels, factor * best.inertia
        model.objective_, model.history_, model.converged_ = factor * best.objective, best.history, best.converged
        model.n_iter_ = len(best.history)
        self._take_fitted(model)
        distinct = int(np.count_nonzero(np.bincount(best.labels)))
        if distinct < options.n_clusters and options.temperature is None:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({options.n_clusters}). "
                "Possibly due to duplicate points in X, or to too few of them",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    @available_if(lambda self: self.temperature is not None)
    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The share of each centre in each row of X, [n, K]; of the soft form only."""
        rows, width = self._checked_rows(X), self._width()
        assert width is not None
        shares = np.empty((len(rows), len(self.cluster_centers_)))

        def use(distances: NDArray[np.float64], start: int, stop: int) -> None:
            kernel = soft_kernel(distances, distances.min(axis=1), width)
            shares[start:stop] = kernel / kernel.sum(axis=1, keepdims=True)

        self._measure(rows, use)
        return shares

    # Parts

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
                message = f"Explicit initial center position passed: performing only one init, not n_init={n_init}"
                warnings.warn(message, RuntimeWarning, stacklevel=3)
                n_init = 1
        if self.algorithm == "elkan" and self.n_clusters == 1:
            message = "algorithm='elkan' doesn't make sense for a single cluster, nor does it change any answer"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
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

    def _reporter(self, step: KMeansState, factor: float) -> Report:
        """What happens after each iteration, whose objective is to be multiplied."""
        report = make_callback(self, lambda: self._placed(step))

        def of_record(record: dict[str, Any]) -> Any:
            record["objective"] *= factor
            return report is not None and report(record)

        return of_record

    def _text_of_record(self, record: dict[str, Any]) -> str:
        """A record as it is printed: as scikit-learn begins, which programs look for, and what else there is."""
        names = [name for name in ("changed", "movement", "relocated") if name in record]
        more = "  ".join(f"{name} {record[name]:.10g}" for name in names)
        return f"Iteration {record['iteration'] - 1}, inertia {record['objective']:.10g}  {more}"

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
