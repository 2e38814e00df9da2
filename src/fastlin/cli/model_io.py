"""Model files as the commands read and write them."""

import argparse
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fastlin
from fastlin.cli.errors import UserError
from fastlin.cli.inputs import InputSource, documents_of, labels_of
from fastlin.cli.labels import all_known, all_shown
from fastlin.cli.progress import Progress
from fastlin.cli.reading import of_dev
from fastlin.core.model_kinds import is_about_language, is_parser
from fastlin.data import Block, Documents
from fastlin.data.readers import sources
from fastlin.validation import refuse_missing

if TYPE_CHECKING:
    from fastlin.inspection import RegressionReport, Report

ARCHIVE = b"PK\x03\x04"  # what a zip begins with
WANTED: dict[tuple[str, ...], str] = {
    ("tagger",): "no tagger",
    ("parser",): "no parser",
    ("speller",): "no corrector of spelling",
    ("classifier", "regressor"): "no classifier or regressor",
}
ELSEWHERE = {  # the commands of other kinds
    "tagger": "which labels tokens: fastlin tag is for it",
    "parser": "which makes trees: fastlin parse is for it",
    "speller": "which corrects texts: fastlin spell is for it",
    "regressor": "which predicts numbers: fastlin predict and evaluate are for it",
}


def check_target(path: str, options: argparse.Namespace, held: str = "documents are") -> None:
    """Whether a file can be written there, and is none that is read: found out before hours of learning."""
    if path == "-":
        raise UserError("-: a model is not written to standard output; name a file")
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder; name a file")
    if not os.path.isdir(folder):
        raise UserError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{path} cannot be written: permission denied")
    for name in (*options.files, *([options.dev] if options.dev else [])):
        if os.path.exists(path) and any(_same(path, file.name) for file in _named(name)):
            raise UserError(f"{path} cannot be written: the {held} in it")


def _named(name: str) -> list[sources.InputFile]:
    """The files that a name stands for; what is wrong with it is said where it is read."""
    try:
        return sources.files(name)
    except OSError:
        return []


def _same(one: str, other: str) -> bool:
    return os.path.exists(other) and os.path.samefile(one, other)


def check_dev(options: argparse.Namespace) -> None:
    """Whether the documents held out are there, and not those to learn from."""
    if options.dev == "-" and "-" in options.files:
        raise UserError("--dev -: standard input holds the documents to learn from")
    if options.dev:
        sources.files(options.dev)


def kind_of(model: Any) -> str | None:
    """What a model labels: a "tagger" tokens of sequences, a "classifier" documents, a "clustering" with numbers.

    "regressor": a model that predicts a number of each document; "parser": one that makes trees of sentences;
    "speller": one that corrects them; "language": one of sentences, or of words, which labels nothing.
    """
    if hasattr(type(model), "correct_word"):
        return "speller"
    if is_parser(model):
        return "parser"
    if hasattr(model, "predict_nbest"):
        return "tagger"
    if hasattr(model, "classes_"):
        return "classifier"
    if is_about_language(model):
        return "language"
    from sklearn.base import RegressorMixin  # which a model of labels has imported, and a stream of texts never does

    if isinstance(model.steps[-1][1] if hasattr(model, "steps") else model, RegressorMixin):
        return "regressor"
    return "clustering" if hasattr(model, "predict") else None


def named_models(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The models that a command names, with -m or before its documents, and the files of documents."""
    models, files = [options.model] if options.model else [], list(options.files)
    while files and _is_archive(files[0]):
        models.append(files.pop(0))
    if not models:
        found = f" {files[0]} is none." if files and files[0] != "-" else ""
        if found and not os.path.exists(files[0]):
            found = f" There is no file {files[0]!r}."
        raise UserError(f"which model?{found} Name its file before the documents, or with -m")
    if not files:
        raise UserError("which documents? Only models are named")
    return models, files


def _is_archive(path: str) -> bool:
    """Whether a file begins as model files do, and as no documents."""
    if path == "-" or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(ARCHIVE)) == ARCHIVE


LABELLERS = "classifier", "regressor"  # which answer for each document


def load(path: str, jobs: int | None = None, verify: bool = True, kinds: tuple[str, ...] = ("classifier",)) -> Any:
    """A model of one of these kinds, which works on so many threads."""
    model = fastlin.load(path, verify=verify)
    if (kind := kind_of(model)) not in kinds:
        what = WANTED.get(kinds, "no classifier of labels")
        what = ELSEWHERE.get(str(kind), what)
        learner = model.steps[-1][1] if hasattr(model, "steps") else model
        raise UserError(f"{path} holds a {type(learner).__name__}, {what}")
    for step in [step for _, step in model.steps] if hasattr(model, "steps") else [model]:
        if jobs is not None and "n_jobs" in step.get_params(deep=False):
            step.set_params(n_jobs=jobs)
    return model


def transformers(path: str) -> list[tuple[str, Any]]:
    """The steps before the learner of a model that was saved, or a vectoriser that was saved by itself."""
    model = fastlin.load(path)
    steps = [*model.steps] if hasattr(model, "steps") else [("vectoriser", model)]
    steps = [(name, step) for name, step in steps if hasattr(step, "transform")]
    if not steps:
        raise UserError(f"{path} holds no vectoriser")
    return steps


def pipeline(steps: list[tuple[str, Any]]) -> Any:
    """Steps as one estimator."""
    if len(steps) == 1:
        return steps[0][1]
    from sklearn.pipeline import Pipeline

    return Pipeline(steps)


def save(model: Any, options: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """Save a model and say what the file holds; with --dev, how often it is right, before and after quantisation."""
    facts: dict[str, Any] = {}
    dev, smaller = getattr(options, "dev", None), options.quantise is not None or options.prune
    if dev:
        facts |= dev_figure(on_dev(model, options, progress))
    if options.model is None:
        return facts
    saved = fastlin.save(model, options.model, dtype=options.quantise, prune=options.prune)
    facts = {"model": options.model, **facts, **saved}
    if dev and smaller:
        again = dev_figure(on_dev(load(options.model, kinds=LABELLERS), options, progress))
        facts |= {f"{name}_saved": value for name, value in again.items()}
    return facts


def dev_figure(found: "Report | RegressionReport") -> dict[str, float]:
    """The figure by which a model is known: the accuracy of labels, R² of numbers."""
    return {"dev_accuracy": found.accuracy} if hasattr(found, "accuracy") else {"dev_r2": found.r2}


def first_index(model: Any) -> int:
    """The index that svmlight's files give the first column of a model of rows."""
    from fastlin.inspection.weights import learner_of  # with all of inspection: who tags sentences does not need it

    return int(getattr(learner_of(model), "svmlight_first_index_", 0))


def set_first_index(learner: Any, index: int) -> None:
    """Let a learner, and the file that it goes into, know the index of its first column."""
    if index:
        learner.svmlight_first_index_ = index


def on_dev(model: Any, options: argparse.Namespace, progress: Progress) -> "Report | RegressionReport":
    """The report of a model on the documents held out."""
    if kind_of(model) == "regressor":
        return evaluate_numbers([model], [options.dev], of_dev(options), progress)[0]
    return evaluate([model], [options.dev], of_dev(options), progress)[0]


def evaluate_numbers(
    models: Sequence[Any], files: list[str], options: argparse.Namespace, progress: Progress
) -> "list[RegressionReport]":
    """The report of each regressor on files whose labels are numbers, of which a block at a time is in memory."""
    from fastlin.inspection import RegressionAccumulator

    tallies = [RegressionAccumulator() for _ in models]
    with (
        InputSource(files, options, first_index=first_index(models[0]), numeric=True) as source,
        progress.stage(f"evaluating on {source.name}", source.bytes) as stage,
    ):
        if source.stored:
            raise UserError(f"{source.stored}: a stored corpus has labels, and a regressor predicts numbers")
        for model in models:
            check_first_index(model, source)
        for block in source.blocks(stage):
            targets = labels_of(block, source.name)
            for tally, model in zip(tallies, models, strict=True):
                tally.add(targets, model.predict(documents_of(block, model)))
    return [tally.report() for tally in tallies]


class Answers(NamedTuple):
    """What a model says of a block of documents, and the right labels as it spells them."""

    labels: list[Any]
    predicted: list[Any]
    probabilities: NDArray[np.float64] | None
    rows: Any  # what its learner was given


def evaluate(
    models: Sequence[Any],
    files: list[str],
    options: argparse.Namespace,
    progress: Progress,
    see: Callable[[Block | Documents, list[Answers]], None] | None = None,
) -> "list[Report]":
    """The report of each model on labelled files, of which a block at a time is in memory; `see` sees the answers."""
    from fastlin.inspection import ReportAccumulator

    tallies = [ReportAccumulator(all_shown(model.classes_)) for model in models]
    with (
        InputSource(files, options, first_index=first_index(models[0])) as source,
        progress.stage(f"evaluating on {source.name}", source.bytes) as stage,
    ):
        for model in models:
            check_first_index(model, source)
        for block in source.blocks(stage):
            answers = [_answers(model, block, source.name) for model in models]
            for tally, one in zip(tallies, answers, strict=True):
                tally.add(one.labels, one.predicted, one.probabilities)
            if see is not None:
                see(block, answers)
    reports = [tally.report() for tally in tallies]
    for model, found in zip(models, reports, strict=True):
        known = all_shown(model.classes_)
        if not any(one.documents for one in found.labels if one.label in known):
            names = ", ".join(str(one.label) for one in found.labels if one.documents)
            warnings.warn(f"{source.name}: the model knows none of the labels, {names:.100}", stacklevel=2)
    return reports


def _answers(model: Any, block: Block | Documents, name: str) -> Answers:
    """What a model says of a block of the files of this name."""
    from fastlin.inspection.weights import learner_of, rows_of
    from fastlin.naive_bayes.component_classifier import ComponentClassifier

    learner, classes = learner_of(model), all_shown(model.classes_)
    X = rows_of(model, documents_of(block, model))  # made once, for labels and for probabilities
    probabilities = learner.predict_proba(X) if hasattr(learner, "predict_proba") else None
    labels = labels_of(block, name)
    if isinstance(learner, ComponentClassifier):  # to which −1 is no label that it might miss
        refuse_missing(labels, name)
    labels = all_known(all_shown(labels), classes)
    if "" in labels and "" not in classes:
        raise UserError(f"{name}: {labels.count(''):,} documents have an empty label, which is none")
    return Answers(labels, all_shown(learner.predict(X)), probabilities, X)


def check_first_index(model: Any, source: InputSource) -> None:
    """Whether stored rows count columns as those did that the model learnt from."""
    if source.stored and not hasattr(model, "steps") and source.first_index != first_index(model):
        raise UserError(
            f"{source.stored}: the first column has index {source.first_index}, and that of the model "
            f"{first_index(model)}; convert the file anew with --first-index {first_index(model)}"
        )


def scores_of(model: Any, documents: Any) -> NDArray[np.float64]:
    """A score for each label of each document; where there is none, the log-probability."""
    if hasattr(model, "decision_function"):
        scores = model.decision_function(documents)
        return scores if scores.ndim == 2 else np.column_stack([-scores, scores])
    return model.predict_log_proba(documents)
