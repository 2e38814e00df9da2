"""Datasets: rows and what belongs to them, read in one place, whether they are a matrix in memory or a `Corpus`.

`read_rows` proves rows, and `Dataset.labelled` and its like add what the user gives beside them, or what a corpus
brings. A `DatasetView` is what a learner makes of a dataset: which rows count, under which of its labels.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.label_sets import check_kind, label_positions
from fastlin.data import Corpus, Segment
from fastlin.data.scratch import ScratchSpace
from fastlin.runtime.made_once import made_once
from fastlin.runtime.partition_sums import PartialSum, join_sums
from fastlin.runtime.passes import PartitionSet, Passes, ThreadPasses
from fastlin.validation import CSRRows, LabelSets

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
RowNumbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
NO_CLASSES, NO_CODES, NO_WEIGHTS = np.empty(0), np.empty(0, np.int32), np.empty(0)


class Groups(NamedTuple):
    """Groups of consecutive rows, one of which is right."""

    starts: RowNumbers  # of each group, and the number of rows
    right: RowNumbers  # the place of the right row within each group
    weights: Floats  # of length 0 for all ones


class TargetedRows(NamedTuple):
    """Rows in memory, and the number that each of them has, or one for each target."""

    rows: CSRRows
    targets: Floats
    weights: Floats  # of length 0 for all ones


class LabelledBlock(NamedTuple):
    """Some rows, the codes of their labels (−1: none) and their weights (of length 0: ones)."""

    rows: CSRRows
    codes: Codes
    weights: Floats

    def take(self, chosen: Mask) -> "LabelledBlock":
        """Some of the rows: a copy, unless they are all."""
        if chosen.all():
            return self
        weights = self.weights[chosen] if len(self.weights) else self.weights
        return LabelledBlock(self.rows.take(np.flatnonzero(chosen)), self.codes[chosen], weights)


class Dataset(ABC):
    """Proved rows in segments, and the labels, weights and groups that they have."""

    name: str  # of the argument that they came by, for messages
    rows: CSRRows | None  # all of them, where they are one piece in memory
    classes: NDArray[Any]  # the sorted labels; of length 0 where the rows have none
    n_features: int
    n_segments: int
    dtype: np.dtype[Any]  # of the values
    bounds: RowNumbers  # where each segment starts, and the number of rows
    weighted: bool
    stored: bool  # whether the rows are on disk
    groups: RowNumbers | None  # how many rows each group has
    label_sets: LabelSets | None = None  # where a row may have several labels: the sets that codes are the places of

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @abstractmethod
    def codes(self) -> Codes:
        """The place of every row's label among the classes, or of its set of labels among the label sets.

        Of length 0 where the rows have none.
        """

    @abstractmethod
    def weights(self) -> Floats:
        """The weight of every row; of length 0 for all ones."""

    @abstractmethod
    def segment(self, index: int) -> Segment:
        """One segment, its values checked."""

    @abstractmethod
    def numbered_rows(self) -> Iterable[tuple[int, CSRRows]]:
        """The rows of each segment, with the number of the first."""

    @abstractmethod
    def scratch(self) -> ScratchSpace:
        """A place for arrays that a fit keeps a row: in memory if the rows are, else in a file."""

    @abstractmethod
    def take(self, rows: RowNumbers) -> "Dataset":
        """Some of the rows."""

    @abstractmethod
    def as_input(self) -> Any:
        """The rows as models and scorers take them: a matrix or a corpus."""

    @abstractmethod
    def labelled(self, y: Any, sample_weight: Any = None, *, estimator: str, several: bool = False) -> "Dataset":
        """The rows with the labels, and the weights, that are given or that a corpus has.

        Each has one or, where there may be `several` and y is an indicator, a set of them.
        """

    @abstractmethod
    def targeted(self, y: Any, sample_weight: Any = None, *, estimator: str, several: bool = False) -> TargetedRows:
        """The rows with the numbers and the weights that are given for each; there may be `several` targets."""

    @abstractmethod
    def partly_labelled(self, y: Any, sample_weight: Any, *, estimator: str) -> "DatasetView":
        """The rows with their weights and with labels of which some may say that there is none."""

    @abstractmethod
    def unlabelled(self, sample_weight: Any = None) -> "DatasetView":
        """The rows with their weights; labels are not looked at."""

    @abstractmethod
    def astype(self, dtype: np.dtype[Any]) -> "Dataset":
        """The rows with values of another type; those of a corpus are converted when they are read."""

    @abstractmethod
    def sample_weights(self, sample_weight: Any) -> Floats:
        """The weights that are given, or that a corpus has; of length 0 for all ones."""

    @abstractmethod
    def group_starts(self, group_sizes: Any) -> RowNumbers:
        """Where groups of the sizes given, or those of a corpus, start, and the number of rows."""

    @abstractmethod
    def grouped(self, y: Any, group_sizes: Any, sample_weight: Any) -> Groups:
        """The groups, with the right row of each, that are given or that a corpus has."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self), self.n_features

    def segments(self) -> Iterator[Segment]:
        """All segments in order."""
        return (self.segment(index) for index in range(self.n_segments))

    def passes(self, segments: PartitionSet, workers: Any) -> Passes:
        """Passes over the segments, by whoever reads them."""
        return ThreadPasses(segments, workers)

    @property
    def dense(self) -> bool:
        """Whether the rows came as a dense matrix."""
        return self.rows is not None and self.rows.dense

    def training(self, class_weight: Any) -> "DatasetView":
        """The rows that weigh something, under the labels that they have, two or more: see `training_view`."""
        if self.label_sets is not None:
            weighs = self.has_weight()
            if not weighs.any():
                raise ValueError("the weight of every row is zero (sample_weight): nothing to learn")
            return DatasetView(self, self.classes, kept=None if weighs.all() else weighs)
        codes, kept = self.codes(), None
        given, weights = codes, self.weights()
        if self.weighted and self.n_segments > 1 and isinstance(class_weight, str):
            given, weights = np.arange(len(self.classes), dtype=np.int32), _masses_of_labels(self)
        factors = validation.class_factors(class_weight, self.classes, given, True, weights)
        view = DatasetView(self, self.classes, factors=factors)
        if factors is not None or self.weighted:
            mask = np.concatenate([view._weights_of(segment) > 0 for segment in self.segments()])
            kept = None if mask.all() else mask
            codes = codes if kept is None else codes[kept]
        present = np.bincount(codes, minlength=len(self.classes)) > 0
        self._check_present(present)
        places = None if present.all() else np.append(np.cumsum(present) - 1, -1).astype(np.int32)
        return replace(view, classes=self.classes[present], places=places, kept=kept)

    def _check_present(self, present: Mask) -> None:
        """Refuse rows of fewer than two labels."""
        if not present.any():
            raise ValueError("the weight of every row is zero (sample_weight × class_weight): nothing to learn")
        if np.count_nonzero(present) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")

    def has_weight(self) -> Mask:
        """Which of the rows have a weight above zero."""
        return self.weights() > 0 if self.weighted else np.ones(len(self), bool)

    def _argument_name(self, of: str) -> str:
        """The name of the argument that brings, say, the labels of these rows."""
        return self.name.replace("X", of)


class InMemoryDataset(Dataset):
    """Rows in memory: one segment, however large."""

    n_segments, stored, groups = 1, False, None
    rows: CSRRows

    def __init__(
        self,
        rows: CSRRows,
        name: str = "X",
        classes: NDArray[Any] = NO_CLASSES,
        codes: Codes = NO_CODES,
        weights: Floats = NO_WEIGHTS,
        label_sets: LabelSets | None = None,
    ) -> None:
        self.rows, self.n_features, self.name = rows, rows.n_columns, name
        self.classes, self._codes, self._weights, self.label_sets = classes, codes, weights, label_sets

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return self.rows.values.dtype

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        return len(self._weights) > 0

    @property
    def bounds(self) -> RowNumbers:  # type: ignore[override]
        return np.array([0, len(self.rows)])

    def codes(self) -> Codes:
        return self._codes

    def weights(self) -> Floats:
        return self._weights

    def segment(self, index: int) -> Segment:  # noqa: ARG002 - there is one
        return Segment(0, self.rows, self._codes, self._weights)

    def numbered_rows(self) -> Iterable[tuple[int, CSRRows]]:
        return ((0, self.rows),)

    def scratch(self) -> ScratchSpace:
        return ScratchSpace()

    def take(self, rows: RowNumbers) -> "InMemoryDataset":
        codes = self._codes[rows] if len(self._codes) else self._codes
        weights = self._weights[rows] if len(self._weights) else self._weights
        return InMemoryDataset(self.rows.take(rows), self.name, self.classes, codes, weights, self.label_sets)

    def as_input(self) -> Any:
        return self.rows.matrix()

    def labelled(
        self, y: Any, sample_weight: Any = None, *, estimator: str, several: bool = False
    ) -> "InMemoryDataset":
        name, sets = self._argument_name("y"), None
        if several and validation.is_indicator(y):
            sets, codes = validation.as_label_sets(y, len(self), name=name)
            classes: NDArray[Any] = sets.classes
        else:
            classes, codes = validation.as_labels(y, len(self), estimator=estimator, name=name)
        return InMemoryDataset(self.rows, self.name, classes, codes, self.sample_weights(sample_weight), sets)

    def targeted(self, y: Any, sample_weight: Any = None, *, estimator: str, several: bool = False) -> TargetedRows:
        read = validation.as_target_columns if several else validation.as_targets
        targets = read(y, len(self), estimator=estimator, name=self._argument_name("y"))
        return TargetedRows(self.rows, targets, self.sample_weights(sample_weight))

    def partly_labelled(self, y: Any, sample_weight: Any, *, estimator: str) -> "DatasetView":
        classes, codes = validation.as_partly_labels(y, len(self), estimator=estimator)
        weights = self.sample_weights(sample_weight)
        return DatasetView(InMemoryDataset(self.rows, self.name, classes, codes, weights), classes)

    def unlabelled(self, sample_weight: Any = None) -> "DatasetView":
        weights = self.sample_weights(sample_weight)
        return DatasetView(InMemoryDataset(self.rows, self.name, weights=weights), NO_CLASSES)

    def sample_weights(self, sample_weight: Any) -> Floats:
        weights = validation.as_weights(sample_weight, len(self))
        return NO_WEIGHTS if weights is None else weights

    def group_starts(self, group_sizes: Any) -> RowNumbers:
        return validation.as_groups(group_sizes, len(self))

    def grouped(self, y: Any, group_sizes: Any, sample_weight: Any) -> Groups:
        starts = self.group_starts(group_sizes)
        right = validation.as_positions(y, starts)
        weights = validation.as_weights(sample_weight, len(right), unit="group")
        return Groups(starts, right, NO_WEIGHTS if weights is None else weights)

    def astype(self, dtype: np.dtype[Any]) -> "InMemoryDataset":
        rows, sets = self.rows.astype(dtype), self.label_sets
        return InMemoryDataset(rows, self.name, self.classes, self._codes, self._weights, sets)


class CSRDataset(InMemoryDataset):
    """A CSR as it lies, proved when its `rows` are asked for: who scores it may prove it on the way.

    `matrix` is one of scipy's, or what else has its `indptr`, `indices`, `data` and `shape`.
    """

    def __init__(self, matrix: Any, name: str, constraints: dict[str, Any]) -> None:
        self.matrix, self.name, self.constraints = matrix, name, constraints
        self.n_features = matrix.shape[1]
        self.classes, self._codes, self._weights = NO_CLASSES, NO_CODES, NO_WEIGHTS

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def dense(self) -> bool:
        return False

    @made_once
    def rows(self) -> CSRRows:
        matrix = self.matrix
        if not sp.issparse(matrix):
            matrix = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        return validation.as_rows(matrix, name=self.name, **self.constraints)


class CorpusDataset(Dataset):
    """The rows of a corpus, whose values are checked when they are read; it brings labels, weights and groups."""

    rows = None

    def __init__(self, corpus: Corpus, name: str, constraints: dict[str, Any]) -> None:
        self.corpus, self.name, self._constraints = corpus, name, constraints
        self.classes, self.bounds, self.dtype = corpus.classes, corpus.bounds, corpus.dtype
        self.n_features, self.n_segments = corpus.shape[1], corpus.n_segments
        self.weighted, self.stored = corpus.weighted, corpus.path is not None

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def groups(self) -> RowNumbers | None:  # type: ignore[override]
        return self.corpus.groups

    def codes(self) -> Codes:
        return self.corpus.codes()

    def weights(self) -> Floats:
        return self.corpus.weights()

    def segment(self, index: int) -> Segment:
        segment = self.corpus.segment(index)
        validation.check_values(segment.rows, name=self.name, start=segment.start, **self._constraints)
        return segment

    def numbered_rows(self) -> Iterable[tuple[int, CSRRows]]:
        return ((segment.start, segment.rows) for segment in self.segments())

    def scratch(self) -> ScratchSpace:
        return self.corpus.scratch()

    def take(self, rows: RowNumbers) -> "CorpusDataset":
        return CorpusDataset(self.corpus.subset(rows), self.name, self._constraints)

    def as_input(self) -> Corpus:
        return self.corpus

    def labelled(
        self,
        y: Any,
        sample_weight: Any = None,
        *,
        estimator: str,  # noqa: ARG002
        several: bool = False,  # noqa: ARG002 - a row of a corpus has one label
    ) -> "CorpusDataset":
        self._reject_with_corpus(**{self._argument_name("y"): y, "sample_weight": sample_weight})
        self._check_labels()
        return self

    def targeted(self, y: Any, *_: Any, estimator: str, **__: Any) -> TargetedRows:  # noqa: ARG002
        raise ValueError(
            f"{self.name} is a Corpus, which has labels and no real targets: {estimator} learns from a matrix and "
            f"{self._argument_name('y')}, SGDRegressor also part by part with partial_fit"
        )

    def partly_labelled(self, y: Any, sample_weight: Any, *, estimator: str) -> "DatasetView":  # noqa: ARG002
        self._reject_with_corpus(y=y, sample_weight=sample_weight)
        places = validation.places_of_labels(self.classes)
        return DatasetView(self, self.classes[places >= 0], np.append(places, np.int32(-1)))

    def unlabelled(self, sample_weight: Any = None) -> "DatasetView":
        self._reject_with_corpus(sample_weight=sample_weight)
        return DatasetView(self, NO_CLASSES, np.full(len(self.classes) + 1, -1, np.int32))

    def sample_weights(self, sample_weight: Any) -> Floats:
        self._reject_with_corpus(sample_weight=sample_weight)
        return self.weights()

    def group_starts(self, group_sizes: Any) -> RowNumbers:
        self._reject_with_corpus(group_sizes=group_sizes)
        sizes = self.groups
        if sizes is None:
            raise ValueError(f"{self.name} is a Corpus without groups: give it group_sizes when it is made")
        return np.concatenate([[0], np.cumsum(sizes)])

    def grouped(self, y: Any, group_sizes: Any, sample_weight: Any) -> Groups:
        """The groups of the corpus: of two labels the greater says which row is right, and its weight the group's."""
        self._reject_with_corpus(y=y, sample_weight=sample_weight)
        starts = self.group_starts(group_sizes)
        self._check_labels()
        if len(self.classes) > 2:
            raise ValueError(
                f"{self.name} is a Corpus with {len(self.classes)} labels; candidates have two, of which the greater "
                "says right"
            )
        right = np.flatnonzero(self.codes() == len(self.classes) - 1)
        counts = np.diff(np.searchsorted(right, starts))
        if (counts != 1).any():
            group, (label,) = int(np.argmax(counts != 1)), self.classes[-1:].tolist()
            raise ValueError(
                f"{counts[group]} rows of group {group} have the label {label!r}: one is right in each group"
            )
        return Groups(starts, right - starts[:-1], self.weights()[right] if self.weighted else NO_WEIGHTS)

    def astype(self, dtype: np.dtype[Any]) -> "CorpusDataset":  # noqa: ARG002
        return self

    def _check_labels(self) -> None:
        if not len(self.classes):
            raise ValueError(f"{self.name} is a Corpus without labels")

    def _reject_with_corpus(self, **given: Any) -> None:
        """What a corpus brings itself must not be given, too."""
        for argument, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{self.name} is a Corpus, which brings its labels and weights: {argument} must be None"
                )


@dataclass(frozen=True)
class DatasetView:
    """Some rows of a dataset, under labels that may be fewer or more than its own, or none."""

    dataset: Dataset
    classes: NDArray[Any]  # the labels
    places: Codes | None = None  # of the dataset's labels among these (−1: none), last −1 for none; None: the same
    kept: Mask | None = None  # which rows count; None: all
    factors: Floats | None = None  # weights of the dataset's labels; None: ones
    columns: RowNumbers | None = None  # the features; None: all

    @property
    def n_features(self) -> int:
        return self.dataset.n_features if self.columns is None else len(self.columns)

    def codes(self) -> Codes:
        """The code of the label of every row of the dataset."""
        return self._placed(self.dataset.codes(), len(self.dataset))

    def has_label(self) -> Mask:
        """Which rows of the dataset have a label, and count."""
        there = self.codes() >= 0
        return there if self.kept is None else there & self.kept

    def row_numbers(self) -> RowNumbers:
        """The numbers of the rows that count."""
        return np.arange(len(self.dataset)) if self.kept is None else np.flatnonzero(self.kept)

    def blocks(self) -> Iterator[LabelledBlock]:
        """The rows that count, segment by segment."""
        for segment in self.dataset.segments():
            n = len(segment.rows)
            rows = segment.rows if self.columns is None else segment.rows.columns(self.columns)
            block = LabelledBlock(rows, self._placed(segment.codes, n), self._weights_of(segment))
            block = block if self.kept is None else block.take(self.kept[segment.start : segment.start + n])
            if len(block.codes):
                yield block

    def take(self, rows: RowNumbers) -> "DatasetView":
        """Some rows of the dataset, under the same labels."""
        taken = self.dataset.take(rows)
        if self.dataset.label_sets is not None:
            return DatasetView(taken, self.classes, columns=self.columns)
        own = label_positions(self.dataset.classes, taken.classes)  # a corpus of some rows knows only labels they have
        places = np.append(own, np.int32(-1)) if self.places is None else np.append(self.places[own], np.int32(-1))
        factors = None if self.factors is None else self.factors[own]
        return DatasetView(taken, self.classes, places, factors=factors, columns=self.columns)

    def without(self, rows: RowNumbers) -> "DatasetView":
        """All rows of the dataset but some."""
        kept = np.ones(len(self.dataset), bool)
        kept[rows] = False
        return replace(self, kept=kept)

    def restricted(self, columns: RowNumbers) -> "DatasetView":
        """The same rows with some of the features only."""
        return replace(self, columns=columns)

    def among(self, classes: NDArray[Any], places: Codes) -> "DatasetView":
        """The same rows among more labels, where each of these has its place."""
        places = np.append(places, np.int32(-1))
        return replace(self, classes=classes, places=places if self.places is None else places[self.places])

    def _placed(self, codes: Codes, n_rows: int) -> Codes:
        if not len(codes):
            return np.full(n_rows, -1, np.int32)
        return codes if self.places is None else self.places[codes]

    def _weights_of(self, segment: Segment) -> Floats:
        """The weights of a segment's rows times those of their labels; of length 0 for all ones."""
        if self.factors is None:
            return segment.weights
        factors = self.factors[segment.codes]
        return factors * segment.weights if len(segment.weights) else factors


def read_rows(X: Any, constraints: dict[str, Any], name: str = "X", lazily: bool = False) -> Dataset:
    """Rows without labels: `constraints` are what `validation.as_rows` has to see to, in a corpus when it is read.

    `lazily`: a CSR that kernels can read as it lies is proved when its rows are asked for.
    """
    if isinstance(X, Corpus):
        return CorpusDataset(X, name, constraints)
    if lazily and validation.is_plain_csr(X):
        return CSRDataset(X, name, constraints)
    return InMemoryDataset(validation.as_rows(X, name=name, **constraints), name)


def read_dataset(X: Any, y: Any, sample_weight: Any = None, *, estimator: str, **constraints: Any) -> Dataset:
    """Rows with labels and weights: X, y and weights of the user's, or a corpus."""
    return read_rows(X, constraints).labelled(y, sample_weight, estimator=estimator)


def read_validation(
    X: Any, y: Any, classes: NDArray[Any], learnt: Dataset, *, estimator: str, **constraints: Any
) -> DatasetView:
    """Validation data under the labels that are learnt; another label has the code −1, a set of labels its place."""
    if X is None:
        raise ValueError("X_val and y_val must be given together")
    rows = read_rows(X, constraints, "X_val")
    if y is None and rows.rows is not None:
        raise ValueError("X_val and y_val must be given together")
    data = rows.labelled(y, estimator=estimator, several=learnt.label_sets is not None)
    if data.n_features != learnt.n_features:
        raise ValueError(f"X_val has {data.n_features} features, X has {learnt.n_features}")
    if learnt.label_sets is not None:
        if data.label_sets is None or len(data.classes) != len(classes):
            raise ValueError(f"y_val must be an indicator of {len(classes)} labels, as y is")
        return DatasetView(data, classes)
    check_kind(classes, data.classes)
    return DatasetView(data, classes, np.append(label_positions(classes, data.classes), np.int32(-1)))


def read_targets(X: Any, y: Any, learnt: Dataset, *, estimator: str, **constraints: Any) -> TargetedRows:
    """Validation data of real targets."""
    if X is None or y is None:
        raise ValueError("X_val and y_val must be given together")
    rows = read_rows(X, constraints, "X_val")
    if rows.n_features != learnt.n_features:
        raise ValueError(f"X_val has {rows.n_features} features, X has {learnt.n_features}")
    return rows.targeted(y, estimator=estimator)


def training_view(dataset: Dataset, class_weight: Any = None) -> DatasetView:
    """The rows of a weight above zero, sample weight × class weight, under the labels that they have: two or more.

    Where a row may have several labels, class weights are not those of rows.
    """
    return dataset.training(class_weight)


def _masses_of_labels(dataset: Dataset) -> Floats:
    """The weight of the rows of each label, added as all sums over segments are."""
    n, sums = dataset.n_segments, list[PartialSum]()
    for index, part in enumerate(dataset.segments()):
        own = np.bincount(part.codes, part.weights, minlength=len(dataset.classes))
        sums = join_sums(sums, [PartialSum(index, index + 1, own, ())], n)
    masses: Floats = sums[0].found
    return masses


def accuracy(
    predict: Callable[[Any], NDArray[Any]], known: NDArray[Any], X: Any, y: Any, sample_weight: Any = None
) -> float:
    """The share of the rows whose label, given or a corpus's own, is predicted by a model that knows some labels."""
    if not isinstance(X, Corpus):
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, predict(X), sample_weight=sample_weight))
    data = read_dataset(X, y, sample_weight, estimator="score")
    check_kind(known, data.classes)
    right = predict(X) == data.classes[data.codes()]
    if not data.weighted:
        return float(np.mean(right))
    parts = [(part.weights.sum(), part.weights @ right[part.start :][: len(part.rows)]) for part in X.segments()]
    total, of_right = np.sum(parts, axis=0)
    return float(of_right / total)


def scored_labels(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """The labels of the rows of X and their weights (None: ones), given or a corpus's own, for a scorer."""
    if not isinstance(X, Corpus):
        return y, sample_weight
    data = read_dataset(X, y, sample_weight, estimator="score")
    return data.classes[data.codes()], data.weights() if data.weighted else None


def true_labels(X: Any, y: Any) -> Any:
    """The labels of X: y, or those that a corpus has."""
    return X.classes if isinstance(X, Corpus) else y


def as_matrix(X: Any, vectorizer: Any) -> Any:
    """The matrix that a vectorizer makes of documents; a corpus has rows already."""
    return X if isinstance(X, Corpus) else vectorizer.transform(X)


def refuse_corpus(X: Any, why: str) -> None:
    """Where rows are no sparse vectors."""
    if isinstance(X, Corpus):
        raise TypeError(f"X is a Corpus, {why}")
