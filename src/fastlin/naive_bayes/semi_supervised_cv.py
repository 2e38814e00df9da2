"""Semi-supervised naive Bayes whose weight of unlabelled documents, components and alpha are chosen by folds."""

import threading
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from fastlin import validation
from fastlin.core.callbacks import log_record
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.cross_validation import Split, as_score, as_split, best_setting, make_folds
from fastlin.core.em_loop import EM, FIT_ATTRIBUTES
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitGenerator, FitMonitor
from fastlin.mixture.partial_labels import PartlyLabelledDocuments
from fastlin.naive_bayes.component_classifier import ComponentClassifier
from fastlin.naive_bayes.semi_supervised import SemiSupervisedNB
from fastlin.runtime import parallel
from fastlin.validation import real_number
from fastlin.validation.parameter_kinds import (
    ABSENT,
    LABEL_PRIOR,
    NUMBERS,
    PLAIN,
    SEARCHED,
    ParameterTable,
    check_parameters,
)

Grid = tuple[list[Any], list[Any], list[float]]  # the values of alpha, of components and of λ
Fold = tuple[PartlyLabelledDocuments, Split]  # documents to learn from, and rows to score on


class SemiSupervisedNBCV(ComponentClassifier):
    """SemiSupervisedNB with λ, the number of components and alpha chosen by cross-validation.

    The folds are of the labelled documents; those without a label help to learn in every fold. Of all combinations the
    one with the best mean score is kept, the first among equals, and all documents are learnt from with it.

    Parameters
    ----------
    unlabeled_weights : array
        The values of λ.
    components : list
        What `SemiSupervisedNB` takes as `components`, each.
    alphas : list
        What it takes as `alpha`, each.
    cv : int, splitter or None
        Folds, stratified by the labels; None is 5. The indices of a splitter, or of given folds, count all rows of X:
        those without a label help to learn in every fold, and no score looks at them. Validation data given to `fit`
        takes their place.
    scoring : str, callable or None
        scikit-learn's name of a score, or a scorer; None is the accuracy.
    fit_prior : bool
        As in SemiSupervisedNB.
    class_prior : array of shape (n_labels,), optional
    base_measure : array of shape (n_features,), optional
    tol : float
    max_iter : int
    n_init : int
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads over the fits; they never change a bit of the model.
    verbose : int
        1 prints a line a fit.
    callback : callable or None
        `callback(model, record)` after every fit of a fold, with its model and the record of `path_`; a true answer
        ends the search.

    Attributes
    ----------
    unlabeled_weight_ : float
        The best λ.
    components_ : int, dict or array
        The best of `components`.
    alpha_ : float or array
        The best of `alphas`.
    scores_ : array of shape (n_folds, n_alphas, n_components, n_unlabeled_weights)
        NaN where a callback ended the search.
    path_ : list of dict
        One record a fit: fold, alpha, components, unlabeled_weight, score, objective, n_iter, converged.
    classes_ : array of shape (n_labels,)
    component_classes_ : array of shape (n_components,)
    component_count_ : array of shape (n_components,)
    class_count_ : array of shape (n_labels,)
    class_log_prior_ : array of shape (n_labels,)
    feature_count_ : array of shape (n_components, n_features)
    feature_log_prob_ : array of shape (n_components, n_features)
    bound_ : array of shape (n_iter_ + 1,)
    restart_scores_ : array of shape (n_runs,)
    objective_ : float
    history_ : list of dict
    converged_ : bool
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from fastlin import SemiSupervisedNBCV
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> topics = np.repeat([[4, 3, 2, 1], [1, 2, 3, 4]], 100, axis=0)
    >>> X, y = rng.poisson(topics / 2), np.repeat(["a", "b"], 100)
    >>> X, y = X[::-1], y[::-1]
    >>> some = rng.permutation(200)
    >>> model = SemiSupervisedNBCV(cv=3).fit(X[some[:20]], y[some[:20]], X[some[20:]])
    >>> model.scores_.shape, model.unlabeled_weight_ in model.unlabeled_weights
    ((3, 3, 2, 5), True)
    """

    _parameters: ClassVar[ParameterTable] = EM | LABEL_PRIOR | SEARCHED | {
        "base_measure": NUMBERS | ABSENT, "unlabeled_weights": NUMBERS, "components": PLAIN, "alphas": PLAIN,
    }  # fmt: skip

    def __init__(
        self,
        *,
        unlabeled_weights: Any = (0.0, 0.03, 0.1, 0.3, 1.0),
        components: Any = (1, 2),
        alphas: Any = (0.1, 0.01, 0.001),
        cv: Any = None,
        scoring: Any = None,
        fit_prior: bool = True,
        class_prior: Any = None,
        base_measure: Any = None,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.unlabeled_weights = unlabeled_weights
        self.components = components
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.base_measure = base_measure
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        X_unlabeled: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Choose λ, the components and alpha, and learn from all documents with them.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : array of shape (n_samples,)
            Labels, or −1, "-1", "", None or NaN; None with a Corpus.
        X_unlabeled : matrix of shape (n_unlabeled, n_features) or Corpus, optional
        sample_weight : array of shape (n_samples,), optional
            Weighs the rows that are learnt from, and those that are scored, if the scorer takes weights. None with a
            Corpus.
        X_val, y_val : optional
            Score on these labelled rows instead of folds; a Corpus comes without y_val.
        checkpoint : path, optional
            A file that says where the fit stands: the fits of the search that are done; in the last fit, the iteration.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one whenever there is something new.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised.
        """
        check_parameters(self)
        found = self._working_copy()
        documents = found._documents(X, y, X_unlabeled, sample_weight, reset=True)
        found._check_labels(documents, documents.classes)
        grid = found._grid(documents)
        folds = found._folds(documents, X_val, y_val)
        given = {"X_val": X_val, "y_val": y_val, "folds": [(fold[0].views[0].kept, fold[1][1]) for fold in folds]}
        given |= {"max_iter": self.max_iter, "tol": self.tol}  # of fits that are done
        file = found._checkpoint_of(documents, checkpoint, checkpoint_interval, resume, **given)
        monitor = FitMonitor(self.max_iter, checkpoint=file)
        generator = monitor.register_generator(validation.as_generator(self.random_state))
        found._search(grid, folds, generator.generator, monitor)
        final = self._template(found.alpha_, found.components_, found.unlabeled_weight_).set_params(n_jobs=self.n_jobs)
        run = final._fit_layout(final._lay_out(documents), None, generator, monitor)
        for name in FIT_ATTRIBUTES:
            setattr(found, name, getattr(final, name))
        self._take_fitted(found._install(documents.classes, final._families, final._counts))
        final._warn_of_run(run)
        final._warn_of_crowding(documents)
        return self

    # Parts

    def _grid(self, documents: PartlyLabelledDocuments) -> Grid:
        """The values of alpha, of components and of λ, each of which can be fitted."""
        grid = _values("alphas", self.alphas), _values("components", self.components), self._weights()
        for alpha, components, weight in product(*grid):
            self._template(alpha, components, weight)._check_for(documents)
        return grid

    def _weights(self) -> list[float]:
        return [
            real_number("unlabeled_weights", weight, at_least=0)
            for weight in _values("unlabeled_weights", self.unlabeled_weights)
        ]

    def _template(self, alpha: Any, components: Any, weight: float) -> SemiSupervisedNB:
        """The model of one fit."""
        names = set(SemiSupervisedNB._get_param_names()) & set(self._get_param_names())
        shared = {name: getattr(self, name) for name in names - {"components", "callback", "verbose", "n_jobs"}}
        return SemiSupervisedNB(alpha=alpha, components=components, unlabeled_weight=weight, **shared)

    def _folds(self, documents: PartlyLabelledDocuments, X_val: Any, y_val: Any) -> list[Fold]:
        classes, view = documents.classes, documents.views[0]
        if X_val is not None or y_val is not None:
            held = self._read_validation(X_val, y_val, classes, view.dataset)
            return [(documents, as_split(held, classes))]
        codes, labelled, folds = documents.codes, view.has_label(), []
        scored = labelled & view.dataset.has_weight()
        for train, test in make_folds(self.cv, codes, np.flatnonzero(labelled)):
            learns, held_out = np.zeros(len(codes), bool), test[scored[test]]
            learns[train] = True
            if not len(held_out):
                raise ValueError("a fold of cv has no labelled rows of a weight above 0 to score on")
            learnt = self._check_beginning(documents.without(np.flatnonzero(labelled & ~learns)))
            folds.append((learnt, as_split(view.take(held_out), classes)))
        if not folds:
            raise ValueError("cv has no folds")
        return folds

    def _search(self, grid: Grid, folds: list[Fold], generator: np.random.Generator, monitor: FitMonitor) -> None:
        """Fill scores_ and path_, and choose. Numbers as alpha share what is laid out."""
        alphas, components, weights = grid
        score = as_score(self._template(alphas[0], components[0], weights[0]), self.scoring)
        search, lock = GridScores(grid, len(folds)), threading.Lock()
        seeds = generator.integers(2**62, size=len(search.jobs)).tolist()
        monitor.register("search", search)

        def fit(job: int) -> None:
            fold, i, j = search.jobs[job]
            documents, scored = folds[fold]
            layout, shape = None, ()
            for a in range(len(search.records[job]), len(alphas)):
                if search.ended:
                    return
                alpha = alphas[a]
                model = self._template(alpha, components[i], weights[j])
                if layout is None or np.shape(alpha) != shape:
                    layout, shape = model._lay_out(documents), np.shape(alpha)
                own = FitMonitor(model.max_iter), FitGenerator(validation.as_generator(seeds[job]))
                run = model._fit_layout(layout, None, own[1], own[0], workers.stop)
                reached = float(score(model, *scored)), run.objective, len(run.bounds) - 1, run.converged
                with lock:
                    record = search.add(job, *reached)
                    log_record(self, {name: value for name, value in record.items() if name != "converged"})
                    search.ended |= bool(self.callback is not None and self.callback(model, record))
                    monitor.maybe_save()

        with parallel.WorkerPool(self.n_jobs) as workers:
            workers.map(fit, [(job,) for job in range(len(search.jobs))])
        self.scores_, self.path_ = search.scores, [record for of_job in search.records for record in of_job]
        a, i, j = best_setting(self.scores_)
        self.alpha_, self.components_, self.unlabeled_weight_ = alphas[a], components[i], weights[j]


class GridScores:
    """What the fits of a search have come to: their scores, and a record of each."""

    def __init__(self, grid: Grid, n_folds: int) -> None:
        self.alphas, self.components, self.weights = grid
        self.scores = np.full((n_folds, *map(len, grid)), np.nan)
        self.jobs = list(product(range(n_folds), range(len(self.components)), range(len(self.weights))))
        self.records: list[list[dict[str, Any]]] = [[] for _ in self.jobs]  # of each job, an alpha after another
        self.ended = False  # by the callback

    def add(self, job: int, score: float, objective: float, n_iter: int, converged: bool) -> dict[str, Any]:
        """Take in the fit of a job with its next alpha; returns the record."""
        (fold, i, j), a = self.jobs[job], len(self.records[job])
        self.scores[fold, a, i, j] = score
        record = {
            "fold": fold, "alpha": self.alphas[a], "components": self.components[i],
            "unlabeled_weight": self.weights[j], "score": score, "objective": objective, "n_iter": n_iter,
            "converged": converged,
        }  # fmt: skip
        self.records[job].append(record)
        return record

    def state_dict(self) -> State:
        """How many fits of each job are done, and what they came to, job by job."""
        done = [record for of_job in self.records for record in of_job]
        fields = {name: [record[name] for record in done] for name in ("score", "objective", "n_iter", "converged")}
        kinds = {"score": np.float64, "objective": np.float64, "n_iter": np.int64, "converged": np.bool_}
        arrays: State = {name: np.array(values, kinds[name]) for name, values in fields.items()}
        return arrays | {"n_done": np.array([len(of_job) for of_job in self.records]), "ended": self.ended}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        n_done = saved.array("n_done", np.empty(len(self.jobs), np.int64))
        if ((n_done < 0) | (n_done > len(self.alphas))).any():
            saved.reject("n_done")
        numbers, counts = np.empty(n_done.sum()), np.empty(n_done.sum(), np.int64)
        like = {"score": numbers, "objective": numbers, "n_iter": counts, "converged": counts.astype(bool)}
        fits = zip(*(saved.array(name, each, finite=False).tolist() for name, each in like.items()), strict=True)
        for job, reached in zip(np.repeat(np.arange(len(self.jobs)), n_done).tolist(), fits, strict=True):
            self.add(job, *reached)
        self.ended = saved.boolean("ended")


def _values(name: str, given: Any) -> list[Any]:
    """The values of a grid."""
    if isinstance(given, str | dict) or not hasattr(given, "__len__") or not len(given):
        raise ValueError(f"{name} must hold at least one value, got {given!r}")
    return list(given)
