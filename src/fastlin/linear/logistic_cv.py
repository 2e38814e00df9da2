"""Logistic regression whose prior is chosen by folds, or on validation data, along paths of warm starts."""

import copy
import math
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from fastlin.core.callbacks import log_record
from fastlin.core.cross_validation import Score, Split, as_score, as_split, best_setting, make_folds
from fastlin.core.dataset import DatasetView, scored_labels, training_view
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_tasks import without_fit_task
from fastlin.core.label_sets import n_weight_columns
from fastlin.core.sparse_estimator import checkpoint_of
from fastlin.linear.absent_labels import LabelsThere
from fastlin.linear.logistic import LogisticRegression
from fastlin.linear.maxent import COUNTS, PENALTIES
from fastlin.linear.path_checkpoints import FoldPath, SearchMonitor
from fastlin.linear.path_results import WARN, as_legacy, given, tabulate
from fastlin.runtime import parallel
from fastlin.validation import CHEAP, real_number, whole_number
from fastlin.validation.choices import LogLinearSolver, PairWeights
from fastlin.validation.parameter_kinds import ABSENT, NUMBERS, SEARCHED, OneOf, ParameterTable, check_parameters

WIDEST = (1e-4, 1e4)  # of the grid that an integer `Cs` asks for
MOST_KEPT = 1 << 27  # numbers of all weights of a search that are kept without being asked for: 1 GiB
CHOSEN = "C", "l1_ratio", "prior_variance", "warm_start"  # by folds, or not at all
# the rows to learn from, of those that have a weight, what to score on, and what else the scorer gets
Fold = tuple[NDArray[np.int64], Split, dict[str, Any]]


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with the strength of its prior chosen by cross-validation.

    Minimises LogisticRegression's objective for every l1_ratio and every C of a path, each fit starting from the last,
    and keeps the pair with the best mean score over the folds; then fits all rows with it. The rows of a fold are
    laid out once for the whole path, and folds share the threads.

    Parameters
    ----------
    Cs : int or array
        The values of C; an int asks for so many between 1e-4 and 1e4, in equal ratios.
    l1_ratios : array, None or "warn"
        The values of l1_ratio; None and "warn", scikit-learn's default, are 0, without an axis of its own in what
        `use_legacy_attributes` shapes.
    cv : int, splitter or None
        Folds, stratified; None is 5. The indices of a splitter, or of given folds, count all rows of X, of which those
        of weight 0 are left out. Validation data given to `fit` takes their place.
    scoring : str, callable or None
        scikit-learn's name of a score, or a scorer; None is the accuracy.
    refit : bool
        Fit all rows with the best pair; False takes the mean of the weights of every fold's own best pair instead,
        beside the first fold's objective, certificate and history.
    penalty : str
        As in LogisticRegression.
    prior_mean : float or array, optional
    tol : float
    fit_intercept : bool
    intercept_scaling : float
    dual : bool
    multi_class : {"auto", "multinomial", "ovr", "deprecated"}
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
    use_legacy_attributes : bool or "warn"
        C_, l1_ratio_, scores_, coefs_paths_ and n_iter_ in the shapes that scikit-learn had before 1.10: arrays and
        dicts with an entry for each label. "warn" is False.
    keep_paths : bool or "auto"
        Keep the weights of every fit; "auto" does where they are at most 2²⁷ numbers.
    callback : callable or None
        `callback(model, record)` after every fit of a path, with its model and the record of `path_`; a true answer
        ends the search.

    Attributes
    ----------
    C_ : float
        The best C; with refit=False the mean of the folds' best.
    l1_ratio_ : float
        The best l1_ratio, likewise.
    Cs_ : array of shape (n_cs,)
        In the order given; the fits go from the least to the greatest.
    l1_ratios_ : array of shape (n_l1_ratios,)
    scores_ : array of shape (n_folds, n_l1_ratios, n_cs)
        NaN where a callback ended the search.
    coefs_paths_ : array of shape (n_folds, n_l1_ratios, n_cs, n_rows_of_coef, n_features + fit_intercept)
        The weights of every fit, the intercept last; where they are kept. They are in no model file.
    n_iter_ : array of shape (n_folds, n_l1_ratios, n_cs)
        The number of iterations.
    n_nonzero_ : array of shape (n_folds, n_l1_ratios, n_cs)
        The number of weights that are not zero.
    path_ : list of dict
        One record a fit: fold, l1_ratio, C, score, objective, duality_gap (relative; NaN without a prior), n_nonzero,
        n_iter, converged. A table of it is what a plot of the path needs.
    coef_ : array of shape (1, n_features) or (n_labels, n_features)
    intercept_ : array of shape (1,) or (n_labels,)
    classes_ : array of shape (n_labels,)
    objective_ : float
    certificate_ : dict
    history_ : list of dict
    converged_ : bool
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from fastlin import LogisticRegressionCV
    >>> from scipy.sparse import random_array
    >>> X = random_array((60, 8), density=0.5, rng=0, format="csr")
    >>> y = (X[:, [0]].toarray()[:, 0] > 0.2).astype(int)
    >>> model = LogisticRegressionCV(Cs=[0.1, 1, 10, 100], cv=3).fit(X, y)
    >>> model.scores_.shape, model.coefs_paths_.shape, model.C_ in model.Cs_
    ((3, 1, 4), (3, 1, 4, 1, 9), True)
    """

    _takes_indicators: ClassVar[bool] = False
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}  # the scorer's to ask for
    _parameters: ClassVar[ParameterTable] = SEARCHED | {
        **{name: kind for name, kind in LogisticRegression._parameters.items() if name not in CHOSEN},
        "penalty": OneOf(*(each for each in PENALTIES if each is not None), "group"),
        "weights": OneOf("dense", "observed"), "refit": OneOf(True, False),
        "Cs": NUMBERS, "l1_ratios": NUMBERS | OneOf(WARN) | ABSENT, "keep_paths": OneOf("auto", True, False),
        "use_legacy_attributes": OneOf(True, False, WARN),
    }  # fmt: skip

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = WARN,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        penalty: Literal["elasticnet", "l2", "l1", "deprecated", "group"] = "deprecated",
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
        n_jobs: int | None = None,
        weights: PairWeights = "dense",
        cutoff: Any = 1,
        dtype: Any = None,
        use_legacy_attributes: Literal["warn"] | bool = False,
        keep_paths: Literal["auto"] | bool = "auto",
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
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.weights = weights
        self.cutoff = cutoff
        self.dtype = dtype
        self.use_legacy_attributes = use_legacy_attributes
        self.keep_paths = keep_paths
        self.callback = callback

    @learns
    def fit(
        self,
        /,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
        **params: Any,
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
        **params
            With scikit-learn's metadata routing: what the splitter and the scorer ask for. Then `sample_weight` weighs
            the rows that are scored only if the scorer asks for it.

        Returns
        -------
        self
            Unchanged, should anything be raised.
        """
        routed = self._routed("fit", sample_weight, params)
        check_parameters(self)
        found = self._working_copy()
        found.Cs_, found.l1_ratios_ = self._grid()
        template = self._template(float(found.Cs_[0]), float(found.l1_ratios_[0]))
        solver = template._check_parameters()
        data = found._read_labelled(X, y, sample_weight, reset=True, nonnegative=solver in COUNTS)
        sample = training_view(data, self.class_weight)
        template._check_labels(sample, solver)
        plain = np.array(sample.classes.tolist())
        score = as_score(template, given(self.scoring, None), plain, None if routed is None else routed.weighs)
        parts = found._splits(sample, X_val, y_val, routed)
        decisive = {"X_val": X_val, "y_val": y_val, "folds": [train for train, *_ in parts]}
        decisive |= {"max_iter": self.max_iter, "tol": self.tol}  # of fits that are done
        file = checkpoint_of(found, data, checkpoint, checkpoint_interval, resume, decisive)
        monitor = SearchMonitor(len(parts) * len(found.Cs_) * len(found.l1_ratios_), file)
        with without_fit_task():  # whose iterations are those of the last fit
            paths = found._search(template, sample, parts, score, monitor)
        final = found._final(sample, paths, monitor)
        for name in ("coef_", "intercept_", "classes_", "objective_", "certificate_", "history_"):
            setattr(found, name, getattr(final, name))
        found.converged_, found._stopped = final.converged_, final._stopped
        if given(self.use_legacy_attributes, False):
            as_legacy(found)
        self._take_fitted(found)
        final._warn()
        return self

    @reads
    def score(self, /, X: Any, y: Any = None, sample_weight: Any = None, **score_params: Any) -> float:
        """The score on the rows of X, a matrix with labels `y` or a `Corpus`, that `scoring` asks for.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : array of shape (n_samples,)
            Labels; None with a Corpus.
        sample_weight : array of shape (n_samples,), optional
            None with a Corpus.
        **score_params
            Further arguments of the scorer; the accuracy takes none.

        Returns
        -------
        float
            What the scorer returns: by default the accuracy, from 0 to 1.
        """
        routed = self._routed("score", sample_weight, score_params)
        if given(self.scoring, None) is None and not score_params:
            return super().score(X, y, sample_weight)
        self._check_fitted()
        y, sample_weight = scored_labels(X, y, sample_weight)
        if routed is not None:
            score_params = routed.scorer
        elif sample_weight is not None:
            score_params = {"sample_weight": sample_weight}
        return float(self._scorer_asked_for()(self, X, y, **score_params))

    def get_metadata_routing(self) -> MetadataRouter:
        """Say what the splitter and the scorer may be sent by `fit` and `score`, as scikit-learn's routing asks.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        if hasattr(self.cv, "get_metadata_routing"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        mapping = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        return router.add(scorer=self._scorer_asked_for(), method_mapping=mapping)

    def _scorer_asked_for(self) -> Any:
        scoring = given(self.scoring, None)
        return get_scorer(scoring or "accuracy") if isinstance(scoring, str | None) else scoring

    def _routed(self, method: str, sample_weight: Any, params: dict[str, Any]) -> "_Routed | None":
        """What each takes of what a method was given; None where scikit-learn's routing is off."""
        if not get_config()["enable_metadata_routing"]:
            if params:
                raise ValueError(
                    f"{', '.join(params)}: passing this to {method} is only supported if enable_metadata_routing=True"
                )
            return None
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        routed = process_routing(self, method, **weights, **params)
        splitter = routed.get("splitter", None)  # `in` has no end where nothing was given
        return _Routed(dict(routed.scorer.score), {} if splitter is None else dict(splitter.get("split", {})))

    def _splits(self, sample: DatasetView, X_val: Any, y_val: Any, routed: "_Routed | None") -> list[Fold]:
        """The folds; validation data make one."""
        told = {} if routed is None else {key: value for key, value in routed.scorer.items() if key != "sample_weight"}
        plain, parts, members = np.array(sample.classes.tolist()), [], sample.row_numbers()
        if X_val is not None or y_val is not None:
            held = self._read_validation(X_val, y_val, sample.classes, sample.dataset, dtype=self._type(sample.dataset))
            if (held.codes() < 0).any():
                raise ValueError("y_val holds a label that y lacks")
            return [(members, as_split(held, plain), told)]
        weighs = np.zeros(len(sample.dataset), bool)
        weighs[members] = True
        asked = {} if routed is None else routed.splitter
        for train, test in make_folds(self.cv, sample.dataset.codes(), members, **asked):
            learnt, scored = train[weighs[train]], test[weighs[test]]
            if not len(learnt) or not len(scored):
                raise ValueError("a fold of cv has no rows of a weight above 0 to learn from, or to score on")
            own = {key: _of_rows(value, scored, len(sample.dataset)) for key, value in told.items()}
            parts.append((learnt, as_split(sample.take(scored), plain), own))
        if not parts:
            raise ValueError("cv has no folds")
        return parts

    def _grid(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The values of C and of l1_ratio, in the order given."""
        if np.ndim(self.Cs) == 0:
            if (number := whole_number("Cs", self.Cs, 1)) > CHEAP:
                raise ValueError(f"Cs asks for {number} values; at most {CHEAP} are supported")
            Cs = np.geomspace(*WIDEST, number)
        else:
            Cs = np.array([real_number("Cs", C, above=0) for C in self.Cs])
        asked = given(self.l1_ratios, None)
        if self.penalty == "elasticnet" and self.l1_ratios is None:
            raise ValueError("l1_ratios must be numbers from 0 to 1 with penalty='elasticnet', got None")
        ratios = [0.0] if asked is None else np.atleast_1d(asked).tolist()
        ratios = [real_number("l1_ratios", ratio, at_least=0, at_most=1) for ratio in ratios]
        if not len(Cs) or not ratios:
            raise ValueError("Cs and l1_ratios must hold at least one value each")
        return Cs, np.array([1.0] if self.penalty in ("l1", "group") else ratios)

    def _template(self, C: float, l1_ratio: float) -> LogisticRegression:
        """The model of one fit."""
        names = set(LogisticRegression._get_param_names()) & set(self._get_param_names())
        shared = {name: getattr(self, name) for name in names - {"callback", "verbose", "n_jobs"}}
        model = LogisticRegression(**shared)
        return model.set_params(C=C, l1_ratio=l1_ratio)

    def _search(
        self,
        template: LogisticRegression,
        sample: DatasetView,
        parts: list[Fold],
        score: Score,
        monitor: SearchMonitor,
    ) -> list[FoldPath]:
        """Fit the path of every fold, fill what is known by fold, l1_ratio and C, and choose."""
        if len(parts) == 1:  # the threads go to the passes instead
            template.set_params(n_jobs=self.n_jobs)
        order = np.argsort(self.Cs_, kind="stable")
        coefs = self._empty_coefs(len(parts), sample)
        paths = self._paths(template, sample, len(parts), order, coefs, monitor)

        def follow(fold: int) -> None:
            (train, held, told), path, laid_out = parts[fold], paths[fold], None
            left = path.left()
            own = sample.take(train) if left else sample
            fewer = LabelsThere.of(own, template)
            rows = own if fewer is None else fewer.rows
            for setting in left:
                if monitor.interrupted:
                    return
                model = copy.copy(template)
                model.C, model.l1_ratio = setting["C"], setting["l1_ratio"]
                model.n_features_in_ = own.n_features
                if len(rows.classes) > 1:
                    fitted = model if fewer is None else fewer.reduced(model)
                    before = path.before if fewer is None else fewer.beginnings(model, path.before)
                    laid_out = fitted._parts_of(rows) if laid_out is None else laid_out
                    fitted._fit_sample(rows, laid_out, checkpoint=path, before=before)
                if fewer is not None:
                    fewer.spread(fitted if len(rows.classes) > 1 else None, model)
                record = path.add(model, float(score(model, *held, **told)))
                log_record(self, record)
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
            if workers.threads > 1:  # else nothing interrupts a fit of a fold but what is raised in it
                template.set_params(callback=lambda *_: monitor.interrupted)
            workers.map(guarded, [(fold,) for fold in range(len(parts))])
        self.path_, monitor.interrupted = [record for path in paths for record in path.finish()], False
        shape = len(self.l1_ratios_), order
        self.scores_ = tabulate(paths, "score", *shape, np.nan)
        self.n_iter_, self.n_nonzero_ = (tabulate(paths, name, *shape, 0) for name in ("n_iter", "n_nonzero"))
        if coefs is not None:
            self.coefs_paths_ = coefs[:, :, np.argsort(order)]
        return paths

    def _paths(
        self,
        template: LogisticRegression,
        sample: DatasetView,
        n_folds: int,
        order: NDArray[np.int64],
        coefs: NDArray[np.float64] | None,
        monitor: SearchMonitor,
    ) -> list[FoldPath]:
        """The path of each fold, from the strongest prior to the weakest, for every l1_ratio."""
        ratios, n = self.l1_ratios_.tolist(), len(self.l1_ratios_)
        pairs = [(ratio, float(self.Cs_[place])) for ratio in ratios for place in order]
        ranks = [int(place) * n + index for index in range(n) for place in order]
        found = []
        for fold in range(n_folds):
            settings = [{"fold": fold, "l1_ratio": ratio, "C": C} for ratio, C in pairs]
            own = None if coefs is None else coefs[fold].reshape(len(pairs), *coefs.shape[3:])
            found.append(FoldPath(monitor, f"fold{fold}", settings, template, sample, ranks, own))
        return found

    def _empty_coefs(self, n_folds: int, sample: DatasetView) -> NDArray[np.float64] | None:
        """Zeros for `coefs_paths_`, which take memory where they are written to; None if it is not to be kept."""
        n_labels = len(sample.classes)
        width = n_labels if self.weights == "observed" else n_weight_columns(n_labels)
        n_columns = sample.n_features + bool(self.fit_intercept)
        shape = n_folds, len(self.l1_ratios_), len(self.Cs_), width, n_columns
        kept = math.prod(shape) <= MOST_KEPT if self.keep_paths == "auto" else self.keep_paths
        return np.zeros(shape) if kept else None

    def _final(self, sample: DatasetView, paths: list[FoldPath], monitor: SearchMonitor) -> LogisticRegression:
        """The model of all rows with the pair of the best mean score, or the mean of the best ones of the folds."""
        if not self.refit:
            best = [path.best_record for path in paths if path.records]
            self.C_, self.l1_ratio_ = (float(np.mean([each[name] for each in best])) for name in ("C", "l1_ratio"))
            return _mean([path.best for path in paths if path.best is not None])
        C, ratio = best_setting(np.swapaxes(self.scores_, 1, 2))
        self.C_, self.l1_ratio_ = float(self.Cs_[C]), float(self.l1_ratios_[ratio])
        final = self._template(self.C_, self.l1_ratio_).set_params(n_jobs=self.n_jobs)
        final.n_features_in_ = sample.n_features  # callbacks may ask it on the way
        before = []
        if hasattr(self, "coefs_paths_") and self.solver != "liblinear":  # which begins at 0, whatever is known
            # the mean of the folds' weights is near those of all rows
            mean, V = self.coefs_paths_[:, ratio, C].mean(axis=0), sample.n_features
            beginning = copy.copy(final)
            beginning.coef_, beginning.intercept_ = mean[:, :V], mean[:, V:].sum(axis=1)
            before.append(beginning)
        parts = final._parts_of(sample)
        final._fit_sample(sample, parts, checkpoint=monitor.nested("final"), before=before)
        return final


class _Routed(NamedTuple):
    """What scikit-learn's metadata routing sends where."""

    scorer: dict[str, Any]
    splitter: dict[str, Any]

    @property
    def weighs(self) -> bool:
        """Whether the scorer asked for the weights of the rows."""
        return "sample_weight" in self.scorer


def _of_rows(value: Any, rows: NDArray[np.int64], n_rows: int) -> Any:
    """Of what there is one a row, that of some rows."""
    return np.asarray(value)[rows] if np.ndim(value) and len(value) == n_rows else value


def _mean(models: list[LogisticRegression]) -> LogisticRegression:
    """The first model with the mean of all weights."""
    mean = copy.copy(models[0])
    mean.coef_ = np.mean([model.coef_ for model in models], axis=0)
    mean.intercept_ = np.mean([model.intercept_ for model in models], axis=0)
    return mean
