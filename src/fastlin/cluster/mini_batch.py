"""Mini-batch k-means of sparse rows: by batches drawn at random, or as they come."""

import copy
import warnings
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.cluster.batch_rows import BatchRows
from fastlin.cluster.centre_model import CentreModel
from fastlin.cluster.kmeans_data import as_centres
from fastlin.cluster.online_centres import OnlineCentres
from fastlin.cluster.seeding import kmeans_plus_plus
from fastlin.core.callbacks import make_callback, tell
from fastlin.core.dataset import Dataset
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.sparse_estimator import Scorer, dense_scorer
from fastlin.validation import MAX_COLUMNS, CSRRows, number_of_parts, one_of
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

INITS = ("k-means++", "random")
RUNS = 3  # from random rows, where n_init is "auto"


class Batch(NamedTuple):
    """Some rows and their weights, of length 0 for ones."""

    rows: CSRRows
    weights: NDArray[np.float64]


class MiniBatchKMeans(CentreModel):
    """Mini-batch k-means (Sculley 2010): scikit-learn's, made for sparse rows.

    Every row of a batch goes to its nearest centre, and every centre becomes the mean of all rows that it was ever
    given. A batch costs its non-zeros times the number of clusters, not the size of the centres. Clusters that have had
    few rows begin anew at random rows of a batch.

    `partial_fit` learns rows as they come; from the same centres it goes through scikit-learn's, as far as nothing is
    drawn. `fit` draws batches from all rows, by their weights, until the inertia of batches, smoothed, falls no more.

    Parameters
    ----------
    n_clusters : int
        K.
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or callable
        Where to begin: at rows far apart, at random rows, at these centres, or at those that
        `init(X, n_clusters, random_state)` returns.
    max_iter : int
        Passes over as many rows as there are, at most.
    batch_size : int
        Rows of a batch that `fit` draws.
    verbose : int
        1 prints a line a batch.
    compute_labels : bool
        Whether `labels_` and `inertia_` are those of all rows; without, `inertia_` is told by batches.
    random_state : int, Generator or None
        The seed of starts, batches and new beginnings.
    tol : float
        A fit ends when Σ_k ‖c_k' − c_k‖² is at most `tol` times the mean variance of the features; 0: never so.
    max_no_improvement : int or None
        A fit ends after so many batches without a lower smoothed inertia; None: never so.
    init_size : int or None
        Rows drawn to find a start among; None is three batches or, where these are fewer than clusters, 3K.
    n_init : "auto" or int
        Starts, of which the best is kept, by the inertia of as many other rows; "auto" is 3 for "random" and callables,
        else 1.
    reassignment_ratio : float
        Clusters begin anew that have had less than this share of the rows of the largest.
    n_jobs : int or None
        Threads; they never change a bit.
    callback : callable or None
        `callback(model, record)` after every batch; a true answer ends the fit.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        c.
    labels_ : array of shape (n_samples,)
        The nearest centre of each row of the last fit or `partial_fit`.
    inertia_ : float
        Σ w ‖x − c‖² of every row and its nearest centre.
    history_ : list of dict
        One record a batch of the fit: iteration, seconds, inertia (the mean of the batch, before it is learnt),
        smoothed_inertia.
    converged_ : bool
        Whether `tol` or `max_no_improvement` (or the callback) ended the fit.
    n_iter_ : int
        Passes over as many rows as there are, the last begun.
    n_steps_ : int
        Batches learnt.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import MiniBatchKMeans
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [2, 0, 0], [0, 0, 3], [0, 1, 3]])
    >>> model = MiniBatchKMeans(n_clusters=2, init=[[1, 0, 0], [0, 0, 1]]).partial_fit(X)
    >>> model.cluster_centers_.tolist()
    [[1.5, 0.0, 0.0], [0.0, 0.5, 3.0]]
    """

    _parameters: ClassVar[ParameterTable] = RUN | {
        "n_clusters": Integer(
            at_least=1, at_most=MAX_COLUMNS, excess="n_clusters is {value}; at most {most} are supported"
        ),
        "init": OneOf(*INITS) | NUMBERS, "max_iter": Integer(at_least=1), "batch_size": Integer(at_least=1),
        "compute_labels": TRUTH, "tol": Real(at_least=0), "max_no_improvement": Integer(at_least=0) | ABSENT,
        "init_size": Integer(at_least=1) | ABSENT, "n_init": OneOf("auto") | Integer(at_least=1),
        "reassignment_ratio": Real(at_least=0),
    }  # fmt: skip
    _centres: OnlineCentres
    _generator: np.random.Generator

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        max_iter: int = 100,
        batch_size: int = 1024,
        verbose: int = 0,
        compute_labels: bool = True,
        random_state: Any = None,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        init_size: int | None = None,
        n_init: Literal["auto"] | int = "auto",
        reassignment_ratio: float = 0.01,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio
        self.n_jobs = n_jobs
        self.callback = callback

    @learns
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes y
        """Cluster these rows, by batches drawn at random.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse. A corpus's labels are left aside, its weights count.
        y : None
            Left aside.
        sample_weight : array of shape (n_samples,), optional
            How often rows are drawn, relatively; None with a Corpus.

        Returns
        -------
        self
            The fitted model.
        """
        model, data = self._working_copy(), self._read_batch(X, sample_weight, True)
        model.n_features_in_ = data.n_features
        rows = BatchRows(data)
        generator = model._generator = validation.as_generator(self.random_state)
        batch = min(self.batch_size, len(rows))
        centres = model._start(rows, generator, batch)
        monitor = FitMonitor(max(1, self.max_iter * len(rows) // batch))
        monitor.report = make_callback(model, lambda: model._placed(centres))
        smoothed = model._run(centres, rows, generator, batch, monitor)
        model._placed(centres).n_steps_ = monitor.iterations
        model.n_iter_ = int(np.ceil(monitor.iterations * batch / len(rows)))
        model.history_, model.converged_ = monitor.history, monitor.converged
        model.inertia_ = smoothed * (float(rows.weights.sum()) if len(rows.weights) else len(rows))
        if self.compute_labels:
            model._measure_rows(Batch(part, rows.weights[start : start + len(part)]) for start, part in rows.parts())
        return self._take_fitted(model)

    @learns
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn these rows, as one batch; of a corpus, each segment is one.

        The first call finds a start among the rows. It costs a copy of the centres besides.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse; the first call needs at least `n_clusters` rows.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        self
            The model, which has learnt these rows, too.
        """
        model, first = self._working_copy(), not hasattr(self, "_centres")
        data = self._read_batch(X, sample_weight, first)
        model.n_features_in_ = data.n_features
        rows = BatchRows(data)
        generator = model._generator = copy.deepcopy(
            validation.as_generator(self.random_state) if first else self._generator
        )
        batch = min(self.batch_size, len(rows))
        centres = model._first(rows, generator, batch) if first else self._centres.copy()
        batches = [Batch(part, rows.weights[start : start + len(part)]) for start, part in rows.parts()]
        for some in batches:
            centres.learn(*some, generator, self.reassignment_ratio, self.n_jobs)
        model._placed(centres).n_steps_ = getattr(self, "n_steps_", 0) + len(batches)
        if self.compute_labels:
            model._measure_rows(batches)
        return self._take_fitted(model)

    @property
    @reads
    def cluster_centers_(self) -> NDArray[np.float64]:
        """The centres."""
        self._check_fitted()
        return self._centres.weights().T

    # Parts

    def __sklearn_is_fitted__(self) -> bool:
        return "_centres" in self.__dict__

    def _check_fitted(self) -> None:
        super(CentreModel, self)._check_fitted()
        if self.n_features_in_ != len(self._centres.sums):  # users may set it
            raise ValueError(
                f"n_features_in_ is {self.n_features_in_!r:.60}, but the centres have {len(self._centres.sums)}"
            )

    @property
    def _n_features_out(self) -> int:
        return len(self._centres.counts)

    def _scorer(self) -> Scorer:
        return dense_scorer(self._centres.weights(), -0.5 * self._centres.squares, self.n_jobs)

    def _placed(self, centres: OnlineCentres) -> Self:
        self._centres = centres
        return self

    def _read_batch(self, X: Any, sample_weight: Any, reset: bool) -> Dataset:
        check_parameters(self)
        if isinstance(self.init, str):
            one_of("init", self.init, INITS)
        data = self._read_rows(X, reset, **self._row_constraints()).unlabelled(sample_weight).dataset
        if reset:
            number_of_parts("n_clusters", self.n_clusters, len(data))
        if data.weighted and not data.weights().any():
            raise ValueError("sample_weight: the weight of every row is zero, there is nothing to cluster")
        return data

    def _run(
        self,
        centres: OnlineCentres,
        rows: BatchRows,
        generator: np.random.Generator,
        batch: int,
        monitor: FitMonitor,
    ) -> float:
        """Learn batches until one of the rules says that it is enough; the smoothed inertia of a row."""
        threshold = self.tol * rows.variance() if self.tol else -1.0
        share, smoothed, best, waited = min(1.0, 2.0 * batch / (len(rows) + 1)), np.nan, np.inf, 0
        while not monitor.should_stop:
            before = centres.weights() if self.tol else centres.sums
            some = rows.take(rows.draw(generator, batch))
            inertia = centres.learn(some, np.empty(0), generator, self.reassignment_ratio, self.n_jobs) / batch
            monitor.iterations += 1
            # the first says how good the start was
            smoothed = (1 - share) * smoothed + share * inertia if monitor.iterations > 2 else inertia
            monitor.log(inertia=inertia, smoothed_inertia=smoothed)
            if monitor.iterations > 1:
                waited, best = (0, smoothed) if smoothed < best else (waited + 1, best)
                still = bool(self.tol) and float(np.sum(np.square(centres.weights() - before))) <= threshold
                enough = self.max_no_improvement is not None and waited >= self.max_no_improvement
                monitor.converged = monitor.stopped or still or enough
                if still or enough:
                    reason = "small centers change" if still else "lack of improvement in inertia"
                    tell(self, f"Converged ({reason}) at step {monitor.iterations}")
        return smoothed

    def _start(self, rows: BatchRows, generator: np.random.Generator, batch: int) -> OnlineCentres:
        """The best of several starts, by the inertia of rows drawn for that."""
        size = self._init_rows(batch, len(rows))
        held = np.sort(generator.integers(0, len(rows), size))
        valid, weights = rows.take(held), rows.weights[held] if len(rows.weights) else np.empty(0)
        best, lowest = None, np.inf
        for _ in range(self._n_starts()):
            found = self._first(rows, generator, batch)
            _, distances = found.assign(valid, self.n_jobs)
            inertia = float(np.sum(distances * weights if len(weights) else distances))
            if best is None or inertia < lowest:
                best, lowest = found, inertia
        assert best is not None
        return best

    def _first(self, rows: BatchRows, generator: np.random.Generator, batch: int) -> OnlineCentres:
        """Centres to begin from, found among some of the rows."""
        n, size, K = len(rows), self._init_rows(batch, len(rows)), int(self.n_clusters)
        numbers = np.sort(generator.integers(0, n, size)) if size < n else np.arange(n)
        if isinstance(self.init, str):
            return OnlineCentres.begin(self._seeds(rows, numbers, generator, K), batch)
        init = self.init
        if callable(init):
            state = np.random.RandomState(int(generator.integers(2**31)))
            init = init(rows.take(numbers).matrix(), K, random_state=state)
        return OnlineCentres.begin(as_centres(init, K, rows.n_features), batch)

    def _seeds(
        self, rows: BatchRows, numbers: NDArray[np.int64], generator: np.random.Generator, n_seeds: int
    ) -> NDArray[np.float64]:
        """Rows far apart, or random ones, without repetition for as long as there are any of positive weight."""
        some = rows.take(numbers)
        weights = rows.weights[numbers] if len(rows.weights) else np.ones(len(numbers))
        weights = weights / weights.sum() if weights.any() else np.full(len(numbers), 1 / len(numbers))
        if self.init == "random":
            n = min(n_seeds, int(np.count_nonzero(weights)))
            chosen = generator.choice(len(numbers), n, replace=False, p=weights)
            chosen = np.append(chosen, generator.choice(len(numbers), n_seeds - n, p=weights))
        else:
            chosen = kmeans_plus_plus(some, n_seeds, generator, weights=weights, n_jobs=self.n_jobs)
        return some.take(chosen).matrix().toarray().astype(np.float64)

    def _init_rows(self, batch: int, n_rows: int) -> int:
        """How many rows a start is found among."""
        size, K = 3 * batch if self.init_size is None else self.init_size, self.n_clusters
        if size < K:
            if self.init_size is not None:
                warnings.warn(
                    f"init_size={size} should be larger than n_clusters={K}: {min(3 * K, n_rows)} rows are taken",
                    RuntimeWarning,
                    stacklevel=5,
                )
            size = 3 * K
        return int(min(size, n_rows))

    def _n_starts(self) -> int:
        if not isinstance(self.init, str) and not callable(self.init):
            if not isinstance(self.n_init, str) and self.n_init > 1:
                message = f"Explicit initial center position passed: performing only one init, not n_init={self.n_init}"
                warnings.warn(message, RuntimeWarning, stacklevel=5)
            return 1
        if isinstance(self.n_init, str):
            return 1 if isinstance(self.init, str) and self.init == "k-means++" else RUNS
        return int(self.n_init)

    def _measure_rows(self, batches: Any) -> None:
        """Set the labels and the inertia of rows."""
        found, total = [], 0.0
        for rows, weights in batches:
            labels, distances = self._centres.assign(rows, self.n_jobs)
            found.append(labels)
            total += float(np.sum(distances * weights if len(weights) else distances))
        self.labels_, self.inertia_ = np.concatenate(found), total
