"""Logistic regression whose prior is chosen by folds, or on validation data, along paths of warm starts."""

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.core.callbacks import print_record
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.cross_validation import Score, Split, as_score, as_split, best_setting, make_folds
from fastlin.core.dataset import DatasetView, training_view
from fastlin.core.estimator import learns
from fastlin.core.sparse_estimator import checkpoint_of
from fastlin.linear.logistic import LogisticRegression
from fastlin.linear.maxent import COUNTS
from fastlin.linear.path_checkpoints import FittedModel, FoldPath, SearchMonitor
from fastlin.optim.partitions import Partitions
from fastlin.runtime import parallel
from fastlin.validation import CHEAP, real_number, whole_number
from fastlin.validation.parameter_kinds import ABSENT, NUMBERS, SEARCHED, OneOf, ParameterTable, check_parameters

WIDEST = (1e-4, 1e4)  # of the grid that an integer `Cs` asks for
FURTHER = 1e-2  # times tol, for fits that begin where the last C ended: within tol of the next optimum, they would stay
CHOSEN = "C", "l1_ratio", "prior_variance", "warm_start"  # by folds, or not at all
Fold = tuple[NDArray[np.int64], Split]  # the rows to learn from, of those that have a weight, and what to score on


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with the strength of its prior chosen by cross-validation.

    Minimises LogisticRegression's objective for every l1_ratio and every C of a path, each fit starting from the last,
    and keeps the pair with the best mean score over the folds; then fits all rows with it. The rows of a fold are
    laid out once for the whole path, and folds share the threads.

    Parameters
    ----------
    Cs : int or array
        The values of C; an int asks for so many between 1e-4 and 1e4, in equal ratios.
    l1_ratios : array
        The values of l1_ratio.
    cv : int, splitter or None
        Folds, stratified; None is 5. The indices of a splitter, or of given folds, count all rows of X, of which those
        of weight 0 are left out. Validation data given to `fit` takes their place.
    scoring : str, callable or None
        scikit-learn's name of a score, or a scorer; None is the accuracy.
    refit : bool
        Fit all rows with the best pair; False takes the mean of the folds' weights instead, beside the first fold's
        objective, certificate and history.
    penalty : {"elasticnet", "l2", "l1"}
        As in LogisticRegression.
    prior_mean : float or array, optional
    tol : float
    fit_intercept : bool
    intercept_scaling : float
    dual : bool
    class_weight : dict, "balanced" or None
    random_state : int, RandomState, Generator or None
    solver : str
    max_iter : int
    verbose : int
        1 prints a line a fold and C.
    n_jobs : int or None
        Threads over the folds; they never change a bit of the model.
    weights : {"dense", "observed"}
    cutoff : int or array of shape (n_features,)
    dtype : {None, "float32", "float64"}
    callback : callable or None
        `callback(model, record)` after every fit of a path, with its model and the record of `path_`; a true answer
        ends the search.

    Attributes
    ----------
    C_ : float
        The best C.
    l1_ratio_ : float
        The best l1_ratio.
    Cs_ : array of shape (n_cs,)
    l1_ratios_ : array of shape (n_l1_ratios,)
    scores_ : array of shape (n_folds, n_l1_ratios, n_cs)
        NaN where a callback ended the search.
    path_ : list of dict
        One record a fit: fold, l1_ratio, C, score, objective, n_iter, converged.
    coef_ : array of shape (1, n_features) or (n_labels, n_features)
    intercept_ : array of shape (1,) or (n_labels,)
    classes_ : array of shape (n_labels,)
    objective_ : float
    certificate_ : dict
    history_ : list of dict
    converged_ : bool
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from fastlin import LogisticRegressionCV
    >>> from scipy.sparse import random_array
    >>> X = random_array((60, 8), density=0.5, rng=0, format="csr")
    >>> y = (X[:, [0]].toarray()[:, 0] > 0.2).astype(int)
    >>> model = LogisticRegressionCV(Cs=[0.1, 1, 10, 100], cv=3).fit(X, y)
    >>> model.scores_.shape, model.C_ in model.Cs_
    ((3, 1, 4), True)
    """

    _parameters: ClassVar[ParameterTable] = SEARCHED | {
        **{name: kind for name, kind in LogisticRegression._parameters.items() if name not in CHOSEN},
        "penalty": OneOf("elasticnet", "l2", "l1"), "refit": OneOf(True, False), "Cs": NUMBERS,
        "l1_ratios": NUMBERS | ABSENT,
    }  # fmt: skip

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (0.0,),
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        penalty: str | None = "elasticnet",
        prior_mean: Any = None,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        dual: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        n_jobs: int | None = None,
        weights: str = "dense",
        cutoff: Any = 1,
        dtype: Any = None,
        callback: Any = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.penalty = penalty
        self.prior_mean = prior_mean
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.weights = weights
        self.cutoff = cutoff
        self.dtype = dtype
        self.callback = callback

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
        """Choose C and l1_ratio, and fit all rows with them.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            The folds of a corpus are subsets of it.
        y : array of shape (n_samples,)
            None with a corpus.
        sample_weight : array of shape (n_samples,), optional
            Weighs the rows that are learnt from, and those that are scored, if the scorer takes weights; rows of weight
            0 are left out. None with a corpus.
        X_val, y_val : optional
            Score on these instead of folds; a corpus comes without y_val.
        checkpoint : path, optional
            A file that says where the search stands: which fits are done, and the iteration of those that run.
        checkpoint_interval : float
            Seconds between two checkpoints of a fold; 0 makes one at every iteration.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised.
        """
        check_parameters(self)
        found = self._working_copy()
        found.Cs_, found.l1_ratios_ = self._grid()
        template = self._template(float(found.Cs_[0]), float(found.l1_ratios_[0]))
        counts = template._check_parameters() in COUNTS
        data = found._read_labelled(X, y, sample_weight, reset=True, nonnegative=counts)
        sample = training_view(data, self.class_weight)
        score = as_score(template, self.scoring)
        parts = found._splits(sample, X_val, y_val)
        given = {"X_val": X_val, "y_val": y_val, "folds": [train for train, _ in parts]}
        given |= {"max_iter": self.max_iter, "tol": self.tol}  # of fits that are done
        file = checkpoint_of(found, data, checkpoint, checkpoint_interval, resume, given)
        monitor = SearchMonitor(len(parts) * len(found.Cs_) * len(found.l1_ratios_), file)
        found._search(template, sample, parts, score, monitor)
        final = found._final(sample, parts, monitor)
        for name in ("coef_", "intercept_", "classes_", "objective_", "certificate_", "history_", "n_iter_"):
            setattr(found, name, getattr(final, name))
        found.converged_, found._stopped = final.converged_, final._stopped
        self._take_fitted(found)
        final._warn()
        return self

    def _splits(self, sample: DatasetView, X_val: Any, y_val: Any) -> list[Fold]:
        """The folds; validation data make one."""
        plain, parts, members = np.array(sample.classes.tolist()), [], sample.row_numbers()
        if X_val is not None or y_val is not None:
            held = self._read_validation(X_val, y_val, sample.classes, sample.dataset, dtype=self._type(sample.dataset))
            if (held.codes() < 0).any():
                raise ValueError("y_val holds a label that y lacks")
            return [(members, as_split(held, plain))]
        weighs = np.zeros(len(sample.dataset), bool)
        weighs[members] = True
        for train, test in make_folds(self.cv, sample.dataset.codes(), members):
            learnt, scored = train[weighs[train]], test[weighs[test]]
            if not len(learnt) or not len(scored):
                raise ValueError("a fold of cv has no rows of a weight above 0 to learn from, or to score on")
            parts.append((learnt, as_split(sample.take(scored), plain)))
        if not parts:
            raise ValueError("cv has no folds")
        return parts

    def _grid(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The values of C, ascending, and of l1_ratio."""
        if np.ndim(self.Cs) == 0:
            if (number := whole_number("Cs", self.Cs, 1)) > CHEAP:
                raise ValueError(f"Cs asks for {number} values; at most {CHEAP} are supported")
            Cs = np.geomspace(*WIDEST, number)
        else:
            Cs = np.sort([real_number("Cs", C, above=0) for C in self.Cs])
        ratios = [0.0] if self.l1_ratios is None else np.atleast_1d(self.l1_ratios).tolist()
        ratios = [real_number("l1_ratios", ratio, at_least=0, at_most=1) for ratio in ratios]
        if not len(Cs) or not ratios:
            raise ValueError("Cs and l1_ratios must hold at least one value each")
        return Cs, np.array(ratios)

    def _template(self, C: float, l1_ratio: float) -> LogisticRegression:
        """The model of one fit."""
        names = set(LogisticRegression._get_param_names()) & set(self._get_param_names())
        shared = {name: getattr(self, name) for name in names - {"callback", "verbose", "n_jobs"}}
        model = LogisticRegression(**shared)
        return model.set_params(C=C, l1_ratio=1.0 if self.penalty == "l1" else l1_ratio)

    def _search(
        self,
        template: LogisticRegression,
        sample: DatasetView,
        parts: list[Fold],
        score: Score,
        monitor: SearchMonitor,
    ) -> None:
        """Fill scores_ and path_, and choose."""
        if len(parts) == 1:  # the threads go to the passes instead
            template.set_params(n_jobs=self.n_jobs)
        else:
            template.set_params(callback=lambda *_: monitor.interrupted)
        pairs = [(ratio, C) for ratio in self.l1_ratios_.tolist() for C in self.Cs_.tolist()]
        settings = [[{"fold": fold, "l1_ratio": ratio, "C": C} for ratio, C in pairs] for fold in range(len(parts))]
        paths = [FoldPath(monitor, f"fold{fold}", of_fold, template, sample) for fold, of_fold in enumerate(settings)]

        def follow(fold: int) -> None:
            (train, held), path, laid_out = parts[fold], paths[fold], None
            left = path.left()
            own = _of_fold(sample, train) if left else sample
            for setting in left:
                if monitor.interrupted:
                    return
                chosen = path.model
                if chosen is None or len(path.records) % len(self.Cs_) == 0:  # a path begins
                    chosen = copy.copy(template)
                else:
                    chosen.set_params(warm_start=True, tol=FURTHER * template.tol)
                chosen.set_params(C=setting["C"], l1_ratio=setting["l1_ratio"])
                model, laid_out = _fold(chosen, own, laid_out, path)
                record = path.add(model, float(score(model, *held)))
                print_record(self, record)
                with monitor.lock:
                    if self.callback is not None and self.callback(model, record):
                        monitor.interrupted = True

        def guarded(fold: int) -> None:
            try:
                follow(fold)
            except BaseException:
                monitor.interrupted = True
                raise

        with parallel.WorkerPool(None if len(parts) == 1 else self.n_jobs) as workers:
            workers.map(guarded, [(fold,) for fold in range(len(parts))])
        self.path_, monitor.interrupted = [record for path in paths for record in path.finish()], False
        scores = np.full((len(parts), len(pairs)), np.nan)
        for path, row in zip(paths, scores, strict=True):
            row[: len(path.records)] = [record["score"] for record in path.records]
        self.scores_ = scores.reshape(len(parts), len(self.l1_ratios_), len(self.Cs_))
        ratio, C = best_setting(self.scores_)
        self.C_, self.l1_ratio_ = float(self.Cs_[C]), float(self.l1_ratios_[ratio])

    def _final(self, sample: DatasetView, parts: list[Fold], monitor: SearchMonitor) -> LogisticRegression:
        """The model of all rows, or the mean of those of the folds, with what was chosen."""
        final = self._template(self.C_, self.l1_ratio_).set_params(n_jobs=self.n_jobs)
        if self.refit:
            final._fit_sample(sample, final._parts_of(sample), checkpoint=monitor.nested("final"))
            return final
        models = []
        for fold, (train, _) in enumerate(parts):
            fitted = FittedModel(copy.copy(final), sample)
            if not monitor.register_finished(f"model{fold}", fitted):
                _fold(fitted.model, _of_fold(sample, train), checkpoint=monitor.nested("final"))
                monitor.register(f"model{fold}", fitted)
            models.append(fitted.model)
        return _mean(models)


def _fold(
    model: LogisticRegression,
    sample: DatasetView,
    parts: Partitions | None = None,
    checkpoint: CheckpointTarget | None = None,
) -> tuple[LogisticRegression, Partitions]:
    """The model fitted on the rows of a fold, which are laid out once for a path."""
    parts = model._parts_of(sample) if parts is None else parts
    model.n_features_in_ = sample.n_features
    model._fit_sample(sample, parts, checkpoint=checkpoint)
    return model, parts


def _of_fold(sample: DatasetView, rows: NDArray[np.int64]) -> DatasetView:
    """The rows of a fold, which have all labels."""
    fold = sample.take(rows)
    if len(np.unique(fold.codes())) < len(sample.classes):
        raise ValueError("a fold lacks a label: use fewer folds, or a stratified splitter")
    return fold


def _mean(models: list[LogisticRegression]) -> LogisticRegression:
    """The first model with the mean of all weights."""
    mean = models[0]
    mean.coef_ = np.mean([model.coef_ for model in models], axis=0)
    mean.intercept_ = np.mean([model.intercept_ for model in models], axis=0)
    return mean
