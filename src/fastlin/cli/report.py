"""`fastlin report`: one HTML file on a model, or on two, and some documents."""

import argparse
import heapq
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fastlin import __version__
from fastlin.cli import model_io, tag_judges
from fastlin.cli.arguments import column
from fastlin.cli.errors import UserError
from fastlin.cli.inputs import InputSource, documents_of
from fastlin.cli.labels import shown
from fastlin.cli.model_io import Answers
from fastlin.cli.progress import Progress
from fastlin.core.model_kinds import is_about_language
from fastlin.data import Block, Documents
from fastlin.inspection import (
    FeatureTable,
    TaggedSentence,
    compare,
    html,
    language,
    summary,
    surprisal,
    top_features,
    transitions,
)
from fastlin.inspection.explanation import Explainer
from fastlin.inspection.html import Markup
from fastlin.inspection.report_page import ReportPage, folded, line_chart
from fastlin.inspection.weights import learner_of
from fastlin.runtime.atomic_write import atomic_write
from fastlin.sequence.metrics import Errors

KINDS = ("classifier", "clustering", "tagger", "language")
MAX_LABELS = 60  # whose features are listed
MAX_CHARACTERS = 5_000  # of a document that is shown
MAX_SENTENCES = 100_000  # whose surprisal is kept in memory


def run(options: argparse.Namespace) -> int:
    paths, files = model_io.named_models(options)
    if len(paths) > 2:
        raise UserError(f"a report is on a model, or on two side by side, and {len(paths)} are named")
    for name, value in (("--mistakes", options.mistakes), ("--top", options.features)):
        if value < 0:
            raise UserError(f"{name} takes a number, got {value}")
    _check_output(options.output, [*paths, *files])
    models = [model_io.load(path, options.jobs, kinds=KINDS) for path in paths]
    kinds = {model_io.kind_of(model) for model in models}
    if len(kinds) > 1:
        raise UserError(f"{' and '.join(paths)} are of different kinds: {' and '.join(sorted(map(str, kinds)))}")
    (kind,) = kinds
    page = ReportPage(options.title or f"{' and '.join(map(os.path.basename, paths))} on {', '.join(files)}")
    sections = {"classifier": _classifiers, "tagger": _taggers, "clustering": _clusters, "language": _languages}
    for path, model in zip(paths, models, strict=True):
        page.add(f"Model {path}" if len(paths) > 1 else "Model", *_about(model))
    sections[str(kind)](page, paths, models, files, options)
    with atomic_write(options.output) as file:
        file.write(page.text(f"fastlin {__version__}, {time.strftime('%Y-%m-%d')}").encode())
    if not options.quiet:
        print(f"{options.output}: {os.path.getsize(options.output) / 1e3:,.0f} kB")
    return 0


def _check_output(path: str, inputs: list[str]) -> None:
    """Whether the report can be written there, found out before the work."""
    folder = os.path.dirname(os.path.abspath(path))
    if path == "-" or os.path.isdir(path) or not os.path.isdir(folder):
        raise UserError(f"-o, --output {path}: name a file in a folder that is there")
    if any(os.path.exists(path) and os.path.exists(name) and os.path.samefile(path, name) for name in inputs):
        raise UserError(f"-o, --output {path} is one of the files to read")


def _about(model: Any) -> Iterator[Markup]:
    """The parts of a model, its strongest features and the history of its fit."""
    learner = learner_of(model)
    if is_about_language(learner):
        yield Markup(language(model)._repr_html_())
    else:
        yield Markup(summary(model)._repr_html_())
    history = getattr(learner, "history_", None) or ()
    points = [(record["seconds"], record["objective"]) for record in history if {"seconds", "objective"} <= set(record)]
    yield line_chart(points, "seconds", "objective")


def _of(heading: str, path: str, paths: list[str]) -> str:
    """A heading, which names the model if there are two."""
    return f"{heading} of {path}" if len(paths) > 1 else heading


def _strongest(page: ReportPage, paths: list[str], models: list[Any], n: int) -> None:
    for path, model in zip(paths, models, strict=True):
        if n and not is_about_language(learner_of(model)):
            found = top_features(model, n)
            more = len(found) - MAX_LABELS
            note = [html.paragraph(f"{more:,} more labels")] if more > 0 else []
            page.add(
                _of("Strongest features", path, paths), Markup(FeatureTable(found[:MAX_LABELS])._repr_html_()), *note
            )


# --- classifiers


class _Mistakes:
    """The mistakes of which a model is most sure: documents with what it says of them, as many as are wanted."""

    def __init__(self, model: Any, n: int) -> None:
        self._model, self._n = model, n
        self._heap: list[tuple[float, int, Any, Any, Any]] = []
        self._seen = self.wrong = 0

    def add(self, block: Block | Documents, answers: Answers) -> None:
        figures = answers.probabilities
        if figures is None and self._n:
            figures = model_io.scores_of(learner_of(self._model), answers.rows)
        documents = documents_of(block, self._model)
        for row, (label, predicted) in enumerate(zip(answers.labels, answers.predicted, strict=True)):
            self._seen += 1
            if label == predicted:
                continue
            self.wrong += 1
            if figures is not None:
                entry = float(np.max(figures[row])), -self._seen, documents[row], label, predicted
                (heapq.heappush if len(self._heap) < self._n else heapq.heappushpop)(self._heap, entry)

    def entries(self) -> list[Markup]:
        """Mistakes, the surest first: the document with coloured words, and what its features contribute."""
        explain = _explainer(self._model)
        found = []
        for sure, place, document, label, predicted in sorted(self._heap, key=lambda one: one[:2], reverse=True):
            head = f"{shown(label)} taken for {shown(predicted)} ({sure:.4g}), document {-place:,}"
            found.append(html.block(html.paragraph(head), *explain(document)))
        return found


def _explainer(model: Any) -> Any:
    """The function from a document to what is shown of it."""
    try:
        explainer = Explainer(model)
    except TypeError:  # of labels with several components, and of language models
        explainer = None

    def explain(document: Any) -> Iterable[Markup]:
        if isinstance(document, str) and len(document) > MAX_CHARACTERS:
            yield html.paragraph(f"the first {MAX_CHARACTERS:,} of {len(document):,} characters")
            document = document[:MAX_CHARACTERS]
        if explainer is None:
            yield html.paragraph(document if isinstance(document, str) else "")
            return
        found = explainer.explain(document)
        yield from found.coloured_words() or ([html.paragraph(document)] if isinstance(document, str) else [])
        yield folded("features", found.html_table())

    return explain


def _classifiers(
    page: ReportPage, paths: list[str], models: list[Any], files: list[str], options: argparse.Namespace
) -> None:
    mistakes = _Mistakes(models[-1], options.mistakes)
    right: list[str] = []
    predicted: list[list[str]] = [[] for _ in models]

    def see(block: Block | Documents, answers: list[Answers]) -> None:
        mistakes.add(block, answers[-1])
        if len(models) > 1:
            right.extend(map(str, answers[0].labels))
            for kept, one in zip(predicted, answers, strict=True):
                kept.extend(map(str, one.predicted))

    reports = model_io.evaluate(models, files, options, Progress(options), see)
    _compared(page, [compare(right, *predicted, figure=figure) for figure in ("accuracy", "macro_f1") if right])
    for path, report in zip(paths, reports, strict=True):
        page.add(_of("Figures", path, paths), html.paragraph(report.headline), *report.html_tables())
    _strongest(page, paths, models, options.features)
    heading = _of(f"The surest of {mistakes.wrong:,} mistakes", paths[-1], paths)
    _add_entries(page, heading, "Blue words speak for the label predicted, red ones against it.", mistakes.entries())


def _compared(page: ReportPage, comparisons: Iterable[Any]) -> None:
    parts = [Markup(one._repr_html_()) for one in comparisons]
    if parts:
        page.add("Which one is better", *parts)


def _add_entries(page: ReportPage, heading: str, note: str, entries: list[Markup]) -> None:
    if entries:
        page.add_entries(heading, note, entries)


# --- taggers


def _taggers(
    page: ReportPage, paths: list[str], models: list[Any], files: list[str], options: argparse.Namespace
) -> None:
    if options.label is not None:
        options.label = column(options.label)
    kept: tag_judges.KeptTags = ([], [[] for _ in models])
    judged = tag_judges.judge(models, files, options, Progress(options), options.mistakes, kept)
    _compared(page, tag_judges.compared(judged, kept))
    for path, one in zip(paths, judged, strict=True):
        spans = [html.lines(one.spans)] if one.spans.types else []
        page.add(_of("Figures", path, paths), *spans, html.paragraph(one.tags.headline), *one.tags.html_tables())
    for path, model in zip(paths, models, strict=True):
        page.add(_of("Transitions", path, paths), Markup(transitions(model)._repr_html_()))
    _strongest(page, paths, models, options.features)
    found = judged[-1].mistakes
    if found is not None:
        heading = f"{found.wrong:,} of {found.sentences:,} sentences have mistakes"
        note = "The right tags, and those predicted below them."
        _add_entries(page, _of(heading, paths[-1], paths), note, list(_wrong_sentences(found, models[-1])))


def _wrong_sentences(found: Errors, model: Any) -> Iterator[Markup]:
    """Sentences with their right tags, and with those predicted."""
    classes = tuple(map(str, model.classes_.tolist()))
    for confusion in found.confusions:
        for one in confusion.examples:
            head = f"{confusion.true} taken for {confusion.predicted}, sentence {one.place + 1:,}"
            known = tuple(dict.fromkeys((*classes, *map(str, one.true))))
            rows = (
                Markup(TaggedSentence(one.words, tags, None, known)._repr_html_()) for tags in (one.true, one.predicted)
            )
            yield html.block(html.paragraph(head), *rows)


# --- clusters and language models


def _clusters(
    page: ReportPage, paths: list[str], models: list[Any], files: list[str], options: argparse.Namespace
) -> None:
    sizes: list[Counter[int]] = [Counter() for _ in models]
    with (
        InputSource(files, options, labelled=False, first_index=model_io.first_index(models[0])) as source,
        Progress(options).stage(f"reading {source.name}", source.bytes) as stage,
    ):
        for block in source.blocks(stage):
            for counter, model in zip(sizes, models, strict=True):
                model_io.check_first_index(model, source)
                counter.update(model.predict(documents_of(block, model)).tolist())
    for path, counter in zip(paths, sizes, strict=True):
        n, largest = counter.total(), max(counter.values(), default=0)
        rows = [(str(one), count, count / n, html.bar(count, largest)) for one, count in sorted(counter.items())]
        page.add(_of("Clusters", path, paths), html.table(["cluster", "documents", "share", ""], rows))
    _strongest(page, paths, models, options.features)


def _languages(
    page: ReportPage, paths: list[str], models: list[Any], files: list[str], options: argparse.Namespace
) -> None:
    for path, model in zip(paths, models, strict=True):
        if not hasattr(model, "surprisal"):
            raise UserError(f"{path} holds a {type(model).__name__}, which gives sentences no probability")
    with (
        InputSource(files, options, labelled=False) as source,
        Progress(options).stage(f"reading {source.name}", source.bytes) as stage,
    ):
        sentences = [text for block in source.blocks(stage) for text in _texts(block)]
    if not sentences:
        raise UserError(f"{', '.join(files)}: there are no sentences")
    facts = [
        (path, model.perplexity(sentences), model.entropy(sentences), model.entropy(sentences, "character"))
        for path, model in zip(paths, models, strict=True)
    ]
    page.add("Figures", html.table(["model", "perplexity", "bits a word", "bits a character"], facts))
    model, some = models[-1], sentences[:MAX_SENTENCES]
    bits, lengths = model.surprisal(some)
    means = np.add.reduceat(bits, np.cumsum(lengths) - lengths) / lengths
    order = np.argsort(-means, kind="stable")[: options.mistakes].tolist()
    entries = [Markup(surprisal(model, some[place])._repr_html_()) for place in order]
    heading = _of("The sentences that surprise most", paths[-1], paths)
    _add_entries(page, heading, "The redder a word, the more it surprises.", entries)


def _texts(block: Block | Documents) -> list[Any]:
    if not isinstance(block, Documents):
        raise UserError(f"{block.path} holds rows of numbers, where sentences are wanted")
    return block.texts
