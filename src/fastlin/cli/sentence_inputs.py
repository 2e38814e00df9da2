"""Files and pipes of sentences in columns, block by block."""

import argparse
from collections.abc import Iterator
from typing import Any

from fastlin.cli.errors import UserError
from fastlin.cli.inputs import CountedFiles, report_skipped
from fastlin.cli.progress import Stage
from fastlin.data.readers import sources
from fastlin.sequence.conll import read_conll
from fastlin.sequence.conll_lines import Sentence
from fastlin.sequence.file_columns import FileColumns

CONLLU = (".conllu", ".conllup")


class Sentences(CountedFiles):
    """What a command reads: sentences, whose labels are in a column if they have any."""

    def __init__(
        self, names: list[str], options: argparse.Namespace, *, labelled: bool = True, model: Any = None
    ) -> None:
        """`model`: one that has learnt, from columns that it knows, which are read if the options name no others."""
        super().__init__(names)
        self._labelled = labelled
        self._learnt: FileColumns | None = getattr(model, "file_columns_", None)
        self._reading = _reading(options, self._files, labelled, self._learnt)
        if labelled and model is None:  # to learn from
            self._reading["unknown_label"] = options.unknown_label
        self._as_learnt = options.columns is None and (labelled or options.label is None)
        self.rest = ""

    def learnt(self, sentence: Sentence) -> "FileColumns":
        """What is to be kept of columns to learn from, of which one sentence is seen."""
        return FileColumns(self._reading["columns"], self._reading["label"], _width(sentence))

    def blocks(self, stage: Stage) -> Iterator[list[Sentence]]:
        """Lists of sentences, as many as are there; a stage that moves as they are read."""
        reader = read_conll(self.open(stage), **self._reading)
        seen = 0
        for block in reader.blocks():
            seen += len(block)
            stage.note = f"{seen:,} sentences"
            yield (
                block
                if self._learnt is None or not self._as_learnt
                else [self._learnt.picked(sentence) for sentence in block]
            )
        self.rest = reader.rest
        report_skipped(reader.skipped)
        if not seen and self._labelled:
            raise UserError(f"{self.name}: there are no sentences")


def labels_of(sentences: list[Sentence]) -> list[list[Any]]:
    """The right labels of each; None for one that is not known."""
    return [sentence.labels or [] for sentence in sentences]


def tokens_of(sentences: list[Sentence], model: Any) -> list[Any]:
    """What a model is given: all columns, where templates read them, or else words alone."""
    if model.features is not None:
        return list(sentences)
    return [[token[0] for token in sentence] for sentence in sentences]


def _width(sentence: Sentence) -> int:
    """The number of columns of the file."""
    assert sentence.form is not None, "a sentence has tokens"
    return sentence.form.width


def _reading(
    options: argparse.Namespace, files: list[sources.InputFile], labelled: bool, learnt: FileColumns | None
) -> dict[str, Any]:
    """The options of `read_conll`: columns that were learnt from, if nobody says otherwise; of CoNLL-U forms alone."""
    columns, label = options.columns, options.label
    if learnt is not None:
        columns = learnt.columns if columns is None else columns
        label = learnt.label if label is None and labelled else label
    if columns is None and (isinstance(label, str) or {file.suffix for file in files} <= {*CONLLU}):
        columns = ["form"]
    chosen = {"columns": columns, "label": -1 if labelled and label is None else label, "on_error": options.on_error}
    for name in ("separator", "comments", "encoding", "errors"):
        if (value := getattr(options, name)) is not None:
            chosen[name] = value
    return chosen
