"""What a learner is given: a matrix in memory, or a corpus on disk where that would not fit."""

import argparse
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import Corpus
from fastlin.cli import available_memory, learners, model_io
from fastlin.cli.errors import UserError
from fastlin.cli.inputs import InputSource, LoadedDocuments, is_stored, report_skipped, texts_of
from fastlin.cli.progress import Progress
from fastlin.data import Documents
from fastlin.runtime.progress import Stage
from fastlin.validation.partial_labels import is_missing

Steps = list[tuple[str, Any]]
MANY = 10  # documents of which one label should not be a single one's
FEW = 2  # documents, each of which may well have a label of its own


class TrainingData(NamedTuple):
    """Rows and labels, and the fitted steps that made the rows of documents."""

    X: Any
    labels: Any
    weights: Any
    steps: Steps
    first_index: int = 0  # that svmlight's files give the first column

    def fit(self, learner: Any, **options: Any) -> None:
        learner.fit(self.X, self.labels, sample_weight=self.weights, **options)

    def all_labels(self) -> NDArray[Any]:
        """The label of every document."""
        return np.asarray(self.labels)

    def label_counts(self) -> tuple[dict[Any, int], Any]:
        """How many documents have each label, and the label of the first."""
        labels = self.labels if isinstance(self.labels, list) else self.labels.tolist()
        return Counter(labels), labels[0]

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Some of the documents."""
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(X=self.X[rows], labels=np.asarray(self.labels)[rows], weights=weights)

    def blocks(self) -> Iterable[tuple[Any, Any]]:
        """Rows and labels."""
        return [(self.X, self.labels)]


class StoredTrainingData(TrainingData):
    """The rows of a `Corpus`, which has labels and weights itself."""

    def all_labels(self) -> NDArray[Any]:
        return self.X.classes[self.X.codes()]

    def label_counts(self) -> tuple[dict[Any, int], Any]:
        classes, codes = self.X.classes.tolist(), self.X.codes()
        counts = np.bincount(codes, minlength=len(classes)).tolist()
        return dict(zip(classes, counts, strict=True)), classes[codes[0]] if classes else None

    def take(self, rows: NDArray[np.int64]) -> Self:
        return self._replace(X=self.X.subset(rows))

    def blocks(self) -> Iterable[tuple[Any, Any]]:
        """Rows and labels, segment by segment."""
        return ((rows.matrix(), self.X.classes[codes]) for _, rows, codes, _ in self.X.segments())


def prepare(options: argparse.Namespace, progress: Progress) -> TrainingData:
    """Read what the command names."""
    ready = model_io.transformers(options.vectoriser) if options.vectoriser else None
    steps = ready or learners.vectoriser(options)  # mistakes are found before anything is read
    if options.learner in learners.REGRESSORS:
        return of_numbers(steps, ready is not None, options, progress)
    if is_stored(options.files):
        learners.refuse_features(options)
        corpus = stored(options.files[0], ready)
        rows = StoredTrainingData(corpus, None, None, ready or [], corpus.first_index)
        on_cluster = getattr(options, "cluster", None) is not None  # whose workers read the labels
        return rows if on_cluster else checked(rows, options)
    with InputSource(options.files, options, again=True) as source:
        if options.out_of_core or is_too_large(source, options):
            return checked(on_disk(source, steps, ready is not None, options, progress), options)
        with progress.stage(f"reading {source.name}", source.bytes) as stage:
            data = source.collect(stage)
    check_labels(data.labels, options)  # before features are made
    found = in_memory(data, steps, ready is not None, options, progress)
    return checked(found._replace(first_index=source.first_index), options)


def is_too_large(source: InputSource, options: argparse.Namespace) -> bool:
    """Whether texts and their matrix, as measured, would not fit into the memory that may be used."""
    needed = source.unpacked * (2 + 3 * options.ngrams[1])
    return bool(needed > (options.memory or available_memory.available() // 2))


def of_numbers(steps: Steps, ready: bool, options: argparse.Namespace, progress: Progress) -> TrainingData:
    """Read documents whose labels are numbers, for a learner that has all rows in memory."""
    if is_stored(options.files):
        raise UserError(f"{options.learner} learns numbers, and a stored corpus has labels: name the files")
    if options.out_of_core:
        raise UserError(f"--out-of-core: {options.learner} has all rows in memory")
    with InputSource(options.files, options, numeric=True) as source:
        if is_too_large(source, options):
            raise UserError(
                f"{source.name}: with their features the texts may not fit into memory, where {options.learner} has "
                "them; --memory says how much may be used"
            )
        with progress.stage(f"reading {source.name}", source.bytes) as stage:
            data = source.collect(stage)
    found = in_memory(data, steps, ready, options, progress)
    return found._replace(labels=np.asarray(data.labels, np.float64), first_index=source.first_index)


def check_labels(labels: Any, options: argparse.Namespace) -> None:
    """Whether no label is empty: that is none, and only `semi-nb` learns from documents without."""
    if options.learner == "semi-nb" or not isinstance(labels, list):
        return
    if n := labels.count(""):
        raise UserError(
            f"{n:,} of {len(labels):,} documents have an empty label, which is none; semi-nb learns from them"
        )


def checked(data: TrainingData, options: argparse.Namespace) -> TrainingData:
    """What was prepared, its labels looked at: those that say that columns were taken for others are warned of."""
    counts, first = data.label_counts()
    if options.learner == "semi-nb":
        counts = {label: count for label, count in counts.items() if not is_missing(label)}
    elif "" in counts:
        raise UserError("some documents have an empty label, which is none; semi-nb learns from them")
    n = data.X.shape[0]
    alone = n >= MANY and isinstance(first, str) and counts.get(first) == 1 and list(counts.values()).count(1) == 1
    if n == len(counts) > FEW:
        warnings.warn(
            f"there are as many labels as documents, {n:,}: are --label and --text the right columns?", stacklevel=2
        )
    elif alone and options.header is None:
        warnings.warn(
            f"only the first document has the label {first!r:.60}: is its line a header? --header says that it is, "
            "--no-header that it is not",
            stacklevel=2,
        )
    return data


def stored(path: str, steps: Steps | None) -> Corpus:
    """A stored corpus, if these steps may have made its features."""
    corpus = Corpus(path)
    if steps is not None:
        vectoriser = steps[0][1]
        named = hasattr(vectoriser, "get_feature_names_out")
        width = len(names := vectoriser.get_feature_names_out()) if named else vectoriser.n_features
        known = corpus.feature_names if named else None
        if width != corpus.shape[1] or (known is not None and not np.array_equal(names, known)):
            raise UserError(f"--vectoriser: it makes other features than those of {path}")
    return corpus


def in_memory(
    data: LoadedDocuments, steps: Steps, ready: bool, options: argparse.Namespace, progress: Progress
) -> TrainingData:
    if not isinstance(data.documents, list):
        learners.refuse_features(options)
        return TrainingData(data.documents.astype(options.dtype), data.labels, data.weights, [])
    steps = steps if ready else learners.suited(steps, data.documents[0], options)
    X = data.documents
    with progress.stage("features", len(X), "documents") as stage:
        for _, step in steps:
            X = step.transform(X) if ready else step.fit_transform(X)
            stage.update(X.shape[0], f"{X.shape[1]:,} features")
    return TrainingData(X, data.labels, data.weights, steps)


def on_disk(
    source: InputSource, steps: Steps, ready: bool, options: argparse.Namespace, progress: Progress
) -> TrainingData:
    """Convert the files to a corpus; they are read twice where a vectoriser has to learn first."""
    first = next(source.blocks(Stage("", None, "")))
    if not isinstance(first, Documents):
        learners.refuse_features(options)
        steps = []
    elif not ready:
        steps = learners.suited(steps, first.texts[0], options)
        with progress.stage("features", source.bytes) as stage:
            learn(steps, source, stage)
    with progress.stage("converting", source.bytes) as stage:
        corpus = Corpus(
            source.open(stage),
            format=source.format,
            dtype=options.dtype,
            vectorizer=model_io.pipeline(steps) if steps else None,
            **source.reading,
        )
    if not steps:  # with them, the first reading has said it
        report_skipped(corpus.skipped)
    if not len(corpus.classes):
        raise UserError(f"{source.name}: the documents have no labels")
    return StoredTrainingData(corpus, None, None, steps, source.first_index)


def learn(steps: Steps, source: InputSource, stage: Stage) -> None:
    """Fit the steps to the documents, of which a block at a time is in memory."""
    (_, vectoriser), *rest = steps
    if not rest:
        vectoriser.fit(text for block in source.blocks(stage) for text in texts_of(block))
        return
    for block in source.blocks(stage):
        vectoriser.partial_fit(texts_of(block))
        rest[0][1].partial_fit(vectoriser.transform(texts_of(block)))
