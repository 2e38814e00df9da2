"""Files and pipes of sentences in columns, block by block."""

import argparse
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from fastlin.cli.errors import UserError
from fastlin.cli.inputs import CountedFiles, report_skipped
from fastlin.data.errors import MalformedLines
from fastlin.data.readers import sources
from fastlin.data.readers.line_formats import message_of
from fastlin.runtime.progress import Stage
from fastlin.sequence.conll import read_conll
from fastlin.sequence.conll_lines import Sentence
from fastlin.sequence.file_columns import FileColumns
from fastlin.sequence.word_tokenizer import TOKENIZERS, Word

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
        reading = self._reading
        form = reading.get("separator"), reading.get("comments")
        return FileColumns(reading["columns"], reading["label"], _width(sentence), *form)

    def blocks(self, stage: Stage) -> Iterator[list[Sentence]]:
        """Lists of sentences, as many as are there; a stage that moves as they are read."""
        reader = read_conll(self.open(stage), **self._reading)
        seen = 0
        for block in reader.blocks():
            if not seen and block:
                self._warn_of_text(block[0])
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

    def _warn_of_text(self, sentence: Sentence) -> None:
        """Of what is to be tagged and has more columns than was learnt from: they may be the words of a text."""
        learnt, form = self._learnt, sentence.form
        if learnt is None or form is None or self._labelled or not self._as_learnt or form.between == "\t":
            return
        if form.width > learnt.width:
            warnings.warn(
                f"{self.name}: there are {form.width} columns, and the model has learnt from {learnt.width}: "
                "text with a sentence on each line is read with --format lines",
                stacklevel=1,
            )


class TextSentence(list[tuple[str]]):
    """The words of a line of text, as tokens of one column, and where they stand in it."""

    def __init__(self, text: str, words: list[Word]) -> None:
        super().__init__((word.text,) for word in words)
        self.text, self.words = text, words

    def tagged(self, *columns: Sequence[str], inside: bool = False, comment: str | None = None) -> str:  # noqa: ARG002
        """A line for each word: the word, its first character, the one behind its last, and more columns."""
        rows = zip(self.words, *columns, strict=True)
        lines = ["\t".join([word.text, str(word.start), str(word.stop), *more]) for word, *more in rows]
        return "".join(f"{line}\n" for line in [*([] if comment is None else [comment]), *lines, ""])


class TextLines(CountedFiles):
    """What a command reads of text with a sentence on each line."""

    def __init__(self, names: list[str], options: argparse.Namespace) -> None:
        super().__init__(names)
        self._split = TOKENIZERS[options.tokens or "words"]
        self._decoding = options.encoding or "utf-8", options.errors or "strict"
        self._strict = options.on_error == "raise"
        self.rest = ""

    def blocks(self, stage: Stage) -> Iterator[list[TextSentence]]:
        """Lists of sentences, as many as are there; a line without words is a sentence without tokens."""
        skipped, seen = MalformedLines(self._strict), 0
        for file in sources.files(self.open(stage)):
            for piece in sources.line_blocks(file, sources.BLOCK_BYTES):
                block = []
                for number, line in enumerate(piece.text.splitlines(), piece.line):
                    try:
                        text = line.decode(*self._decoding)
                    except UnicodeDecodeError as error:
                        skipped.add(piece.path, number, message_of(error), error)
                        continue
                    block.append(TextSentence(text, self._split(text)))
                seen += len(block)
                stage.note = f"{seen:,} sentences"
                yield block
        report_skipped(skipped)


def labels_of(sentences: list[Sentence]) -> list[list[Any]]:
    """The right labels of each; None for one that is not known."""
    return [sentence.labels or [] for sentence in sentences]


def weights_of(sentences: list[Sentence], name: str) -> list[float]:
    """What the comments `# name = number` in front of sentences say; 1 where there is none."""
    said = re.compile(rf"#\s*{re.escape(name)}\s*=\s*(.*?)\s*")
    if not any(said.fullmatch(comment) for sentence in sentences for comment in sentence.comments):
        raise UserError(f"--weight-comment {name}: no sentence has a comment '# {name} = NUMBER'")
    return [_weight_of(sentence, said) for sentence in sentences]


def _weight_of(sentence: Sentence, said: re.Pattern[str]) -> float:
    weight = 1.0
    for comment in sentence.comments:
        if found := said.fullmatch(comment):
            try:
                weight = float(found[1])
            except ValueError:
                weight = -1.0
            if not 0 <= weight < float("inf"):
                raise UserError(f"{sentence.path}, line {sentence.line}: {comment!r:.60} says no weight from 0 on")
    return weight


def tokens_of(sentences: Sequence[Sentence | TextSentence], model: Any) -> list[Any]:
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
        value = getattr(options, name)
        if value is None and learnt is not None:
            value = getattr(learnt, name, None)
        if value is not None:
            chosen[name] = value
    return chosen
