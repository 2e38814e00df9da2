"""What estimators on a cluster share: they are the local ones, and workers do their passes over a stored corpus."""

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from fastlin.core.dataset import Dataset
from fastlin.core.label_sets import check_kind
from fastlin.dask.cluster import Cluster, client_of
from fastlin.dask.datasets import ClusterDataset, open_corpus
from fastlin.dask.partitions import CorpusSegments
from fastlin.dask.passes import DaskPasses
from fastlin.dask.prediction import HeldModel, predict_segment, score_segment
from fastlin.data import Corpus
from fastlin.storage import Checkpoint, identity

MAPPED = "predict", "predict_proba", "predict_log_proba", "decision_function"
_CLUSTER_OF_FIT: ContextVar[Cluster | None] = ContextVar("_CLUSTER_OF_FIT", default=None)


class ClusterEstimator:
    """A mixin before a local estimator, whose parameters it has, and `client`.

    `fit` takes a stored `Corpus`, or its path, that all workers see; where labels and weights belong to it. What
    predicts takes one, too, or rows in memory, which stay here. Everything else is the local estimator's.
    """

    local: ClassVar[type]
    client: Any

    def __init_subclass__(cls, **options: Any) -> None:
        """Give a class the parameters of the local one and `client`, and let what predicts take stored corpora."""
        super().__init_subclass__(**options)
        cls.local = next((base for base in cls.__mro__ if not issubclass(base, ClusterEstimator)), object)
        if cls.local is object:  # a mixin
            return
        local_init: Any = cls.local.__dict__["__init__"]

        @functools.wraps(local_init)
        def init(self: Any, *arguments: Any, client: Any = None, **parameters: Any) -> None:
            local_init(self, *arguments, **parameters)
            self.client = client

        signature = inspect.signature(local_init)
        own = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        init.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), own]
        )
        type.__setattr__(cls, "__init__", init)
        type.__setattr__(cls, "fit", _on_cluster(cls.__dict__.get("fit", cls.local.fit)))  # type: ignore[attr-defined]
        for name in MAPPED:
            if hasattr(cls.local, name):
                setattr(cls, name, _mapped(getattr(cls.local, name)))

    def to_local(self) -> Any:
        """The same model, which needs no cluster."""
        model: Any = object.__new__(self.local)
        state = self.__getstate__()
        state.pop("client", None)
        model.__dict__.update(state)
        return model

    def __getstate__(self) -> dict[str, Any]:
        """All but the client, which is never pickled."""
        known: Any = super().__getstate__()
        return {**known, "client": None}

    def __sklearn_clone__(self) -> Any:
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        client = parameters.pop("client")
        kind: Any = type(self)
        return kind(client=client, **{name: clone(value, safe=False) for name, value in parameters.items()})

    # Parts

    def _ask_segments(self, corpus: Corpus, work: Any, *arguments: Any) -> list[Any]:
        """What the fitted model says of every segment."""
        self._checked_rows(corpus)  # type: ignore[attr-defined]
        segments = CorpusSegments.of(corpus, self._row_constraints())  # type: ignore[attr-defined]
        model = self.to_local()
        if getattr(model, "callback", None) is not None:
            model.callback = None
        with Cluster(client_of(self.client)).releasing() as cluster:
            return DaskPasses(cluster, segments, segments.path).each(work, HeldModel(model), *arguments)

    def _read_rows(self, X: Any, reset: bool, **constraints: Any) -> Dataset:
        """In a fit the rows of a stored corpus; of several segments, as workers read them."""
        cluster = _CLUSTER_OF_FIT.get() if reset else None
        corpus = X if cluster is None else open_corpus(X)
        if cluster is None or corpus.n_segments == 1:  # nothing to divide
            found: Dataset = super()._read_rows(corpus, reset, **constraints)  # type: ignore[misc]
            return found
        rows = ClusterDataset(corpus, "X", constraints, cluster)
        self._check_width(corpus, rows, reset)  # type: ignore[attr-defined]
        return rows

    def _checkpoint_of(self, source: Any, path: Any, checkpoint_interval: Any, resume: Any, **given: Any) -> Checkpoint:
        """The file of a fit on the driver: the corpus is known by its manifest, and no row is read."""
        if not isinstance(source, ClusterDataset) or path is None:
            found: Checkpoint = super()._checkpoint_of(  # type: ignore[misc]
                source, path, checkpoint_interval, resume, **given
            )
            return found
        described = {"corpus": source.remote.digest, "dtype": source.remote.dtype}
        return Checkpoint(path, checkpoint_interval, resume, identity(self, described, **given))


class ClusterClassifier(ClusterEstimator):
    """The same before a local classifier."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on the rows of a stored corpus, or of a matrix, as the local `score`."""
        if not _is_stored(X):
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
        if y is not None or sample_weight is not None:
            raise ValueError("X is a Corpus, which brings its labels and weights: y and sample_weight must be None")
        corpus = open_corpus(X)
        if not len(corpus.classes):
            raise ValueError("X is a Corpus without labels")
        check_kind(self.classes_, corpus.classes)  # type: ignore[attr-defined]
        total, right = np.sum(self._ask_segments(corpus, score_segment, corpus.classes), axis=0)
        return float(right / total)


def _is_stored(X: Any) -> bool:
    """Whether these are rows that workers can open: a path, or a corpus that has one."""
    return hasattr(X, "parts") or isinstance(X, str) or (hasattr(X, "n_segments") and X.path is not None)


def _on_cluster(method: Callable[..., Any]) -> Callable[..., Any]:
    """A `fit` that has the cluster of its client for its passes, and leaves nothing there."""

    @functools.wraps(method)
    def fit(self: Any, *arguments: Any, **named: Any) -> Any:
        with Cluster(client_of(self.client)).releasing() as cluster:
            token = _CLUSTER_OF_FIT.set(cluster)
            try:
                return method(self, *arguments, **named)
            finally:
                _CLUSTER_OF_FIT.reset(token)

    return fit


def _mapped(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of rows in memory that workers do for each segment of a stored corpus."""

    @functools.wraps(method)
    def answer(self: Any, X: Any) -> Any:
        if not _is_stored(X):
            return method(self, X)
        return np.concatenate(self._ask_segments(open_corpus(X), predict_segment, method.__name__))

    return answer
