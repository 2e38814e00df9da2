"""`fastlin train --stream`: learn from texts while they are read, by a road that does not import scikit-learn.

Texts are hashed and learnt from a block at a time, in their order, and forgotten. The model is that of an epoch in this
order over all of them, bit for bit; so its labels have to be known before the first step: they are given, or files are
read twice.
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.cli import learners, model_io
from fastlin.cli.errors import UserError
from fastlin.cli.inputs import InputSource, labels_of
from fastlin.cli.progress import Progress
from fastlin.cli.summary import tell
from fastlin.data import Block, Documents
from fastlin.data.readers.parsed_records import NumberedLabels
from fastlin.linear.sgd_parameters import SGDParameters
from fastlin.linear.streamed_sgd import StreamedSGD
from fastlin.runtime.progress import Stage
from fastlin.storage.described import DescribedEstimator, described_pipeline, save_described
from fastlin.storage.weight_packing import Packing
from fastlin.text.hashed_rows import HashingParameters, TextHasher

BITS = 18  # of the hashes, if nothing is said of them
BLOCK_BYTES = 1 << 18  # of a file that are read at a time: its rows are in the processor's cache when they are learnt
ONCE = {"max_iter": 1, "shuffle": False}
UNSUITED = {  # options of other roads, and their values when they are not given
    "vectoriser": None, "out_of_core": False, "memory": None, "checkpoint": None, "resume": False, "cluster": None,
    "min_df": None, "max_df": None, "max_features": None, "sublinear": None, "keep_names": None, "average": None,
}  # fmt: skip


def run(options: argparse.Namespace) -> int:
    started, progress = time.perf_counter(), Progress(options)
    check(options)
    model_io.check_target(options.model, options)
    model_io.check_dev(options)
    hashing, parameters = described_model(options)
    packing = Packing(options.quantise, options.prune)
    with InputSource(options.files, options, again=options.labels is None) as source:
        if source.stored:
            raise UserError(f"--stream reads texts, and {source.name} is a stored corpus of rows")
        source.reading["block"], source.in_place = BLOCK_BYTES, True
        classes = labels_in(source, progress) if options.labels is None else np.unique(options.labels)
        learner = StreamedSGD(parameters, hashing.n_features, classes)
        with progress.stage(f"learning from {source.name}", source.bytes) as stage:
            n_documents = learn(learner, TextHasher(hashing), source, stage)
    learner.finish()
    steps = [
        ("hashing", DescribedEstimator("fastlin.HashingVectorizer", vars(hashing))),
        ("learner", DescribedEstimator("fastlin.SGDClassifier", vars(parameters), learner.learnt(packing))),
    ]
    saved = save_described(described_pipeline(steps), options.model, packing)
    facts = {"model": options.model, **saved, "documents": n_documents}
    if options.dev:
        facts |= model_io.dev_figure(model_io.on_dev(model_io.load(options.model), options, progress))
    facts |= {"labels": len(classes), "features": hashing.n_features}
    tell(facts | {"seconds": time.perf_counter() - started}, options)
    return 0


def check(options: argparse.Namespace) -> None:
    """Whether the options are of what can be learnt in a stream."""
    if learners.LEARNERS[options.learner].estimator != "SGDClassifier":
        raise UserError(f"--stream is for sgd and ftrl, and not for {options.learner}: --learner says who learns")
    for name, missing in UNSUITED.items():
        if getattr(options, name) != missing:
            raise UserError(f"--{name.replace('_', '-')} means nothing with --stream, which keeps no rows")
    if options.weighing == "tfidf":
        raise UserError("--tfidf needs the frequencies of all features before the first row; not with --stream")
    if options.epochs not in (None, 1):
        raise UserError(f"--epochs {options.epochs}: --stream reads the texts once, which is one epoch")
    if options.dev and (options.quantise is not None or options.prune):
        raise UserError("--dev measures the model that is saved; with --stream there is no other to compare it with")


def described_model(options: argparse.Namespace) -> tuple[HashingParameters, SGDParameters]:
    """The parameters of the vectoriser and of the learner."""
    options.hash = BITS if options.hash is None else options.hash
    hashing = HashingParameters(**learners.hashing_parameters(options, learners.words_of(options)))
    chosen = learners.LEARNERS[options.learner]
    named = learners.named_parameters(options) | {"max_iter": None}
    return hashing, learners.build(options, SGDParameters, chosen.parameters | ONCE, named, chosen.estimator)


def labels_in(source: InputSource, progress: Progress) -> NDArray[np.str_]:
    """All labels of the files, which are read for them."""
    found: set[str] = set()
    with progress.stage(f"labels of {source.name}", source.bytes) as stage:
        for block in source.blocks(stage):
            labels = labels_of(texts_of(block, source.name), source.name)
            found.update(labels.distinct() if isinstance(labels, NumberedLabels) else labels)
    if "" in found:
        raise UserError("some documents have an empty label, which is none; semi-nb learns from them")
    if len(found) < 2:
        raise UserError(f"{source.name}: all documents have the label {found.pop()!r:.60}; a model tells labels apart")
    return np.array(sorted(found))


def learn(learner: StreamedSGD, rows_of: TextHasher, source: InputSource, stage: Stage) -> int:
    """Learn from all documents; returns how many there were."""
    classes = ClassNumbers(learner.classes.tolist())
    n_documents = 0
    for block in source.blocks(stage):
        documents = texts_of(block, source.name)
        try:
            codes = classes.of(labels_of(documents, source.name))
        except KeyError as error:
            raise UserError(unknown_label(documents, error.args[0])) from None
        weights = np.empty(0) if documents.weights is None else documents.weights
        learner.learn(rows_of.rows(documents.texts), codes, weights)
        n_documents += len(codes)
    return n_documents


class ClassNumbers:
    """The numbers of the classes that labels are of. KeyError: a label is none of them."""

    def __init__(self, classes: list[str]) -> None:
        self._number = {label: number for number, label in enumerate(classes)}
        self._names: list[str] = []  # of numbered labels, and the classes that they are; −1: none
        self._of_names = np.empty(0, np.int32)

    def of(self, labels: Sequence[str]) -> NDArray[np.int32]:
        if not isinstance(labels, NumberedLabels):
            return np.fromiter(map(self._number.__getitem__, labels), np.int32, len(labels))
        if labels.names is not self._names or len(labels.names) > len(self._of_names):
            self._names = labels.names
            self._of_names = np.array([self._number.get(label, -1) for label in labels.names], np.int32)
        codes = self._of_names[labels.numbers]
        if codes.min(initial=0) < 0:
            raise KeyError(labels[int(codes.argmin())])
        return codes


def texts_of(block: Block | Documents, name: str) -> Documents:
    """A block of texts."""
    if not isinstance(block, Documents) or (block.texts and not isinstance(block.texts[0], str)):
        raise UserError(f"--stream hashes the words of texts, and {name} holds features")
    return block


def unknown_label(documents: Documents, label: str) -> str:
    """Where a label is that --labels does not name; lines that are empty, or left out, are not counted."""
    place = (documents.labels or []).index(label)
    where = f"{documents.path}, line {documents.line + place} or soon behind it"
    return f"{where}: the label {label!r:.60} of the document {documents.texts[place]!r:.60} is none of --labels"
