"""`fastlin convert`: files of any kind in, shards or other files out."""

import argparse
import contextlib
import json
import re
import sys
from typing import Any, BinaryIO

import numpy as np

import fastlin
from fastlin import Corpus
from fastlin.cli import learners, model_io
from fastlin.cli.errors import UserError
from fastlin.cli.inputs import InputSource, is_stored, labels_of, size_of, texts_of
from fastlin.cli.progress import Progress
from fastlin.cli.training_data import on_disk
from fastlin.data import dump_svmlight
from fastlin.data.readers.sources import InputFile
from fastlin.data.svmlight_writer import created

BREAKS, LINE_ENDS = re.compile(r"\t|\r\n|\r|\n"), re.compile(r"\r\n|\r|\n")
SUFFIXES = {".svmlight": "svmlight", ".svm": "svmlight", ".libsvm": "svmlight", ".tsv": "tsv", ".jsonl": "jsonl"}


def run(options: argparse.Namespace) -> int:
    progress = Progress(options)
    to: Any = options.to or _by_name(options.output)
    if options.output == "-" and to in (None, "arrow", "npy"):
        raise UserError("-o -: shards are a folder, which is not written to standard output; --to names another format")
    if options.save_vectoriser == "-":
        raise UserError("--save-vectoriser -: a vectoriser is not written to standard output; name a file")
    facts: dict[str, Any]
    if to in ("tsv", "jsonl"):
        facts = texts(options, to, progress)
    else:
        corpus = rows(options, progress)
        facts = {"rows": corpus.shape[0], "features": corpus.shape[1], "labels": corpus.classes.tolist()}
        if to == "svmlight":
            svmlight(corpus, options, progress)
        else:
            corpus.write(options.output, to, dtype=options.dtype)
    if options.json:
        print(json.dumps({"output": options.output, "format": to, **facts}))
    elif not options.quiet and options.output != "-":
        sizes = ", ".join(f"{value:,} {name}" for name, value in facts.items() if name != "labels")
        print(f"{options.output}: {to or 'shards'}, {sizes}")
    return 0


def rows(options: argparse.Namespace, progress: Progress) -> Corpus:
    """The rows of what is read, in temporary files unless they are stored already."""
    if is_stored(options.files):
        return Corpus(options.files[0])
    ready = model_io.transformers(options.vectoriser) if options.vectoriser else None
    steps = ready or learners.vectoriser(options)
    with InputSource(options.files, options, again=True) as source:
        made = on_disk(source, steps, ready is not None, options, progress)
    if options.save_vectoriser:
        if not made.steps:
            raise UserError("--save-vectoriser: rows of numbers have no vectoriser")
        fastlin.save(model_io.pipeline(made.steps), options.save_vectoriser)
    return made.X


def svmlight(corpus: Corpus, options: argparse.Namespace, progress: Progress) -> None:
    """Rows as svmlight has them. Its labels are numbers: those that are not are counted from 0 in their order."""
    classes = np.arange(len(corpus.classes))
    with contextlib.suppress(ValueError):
        classes = corpus.classes.astype(float)
    with output(options.output) as file, progress.stage("writing", len(corpus), "rows") as stage:
        for start, block, codes, weights in corpus.segments():
            dump_svmlight(
                block.matrix(), classes[codes], file, zero_based=not corpus.first_index,
                sample_weight=weights if len(weights) else None,
            )  # fmt: skip
            stage.update(start + len(block))


def texts(options: argparse.Namespace, to: str, progress: Progress) -> dict[str, Any]:
    """Labels and texts, a line each."""
    n = 0
    with (
        InputSource(options.files, options) as source,
        progress.stage("converting", source.bytes) as stage,
        output(options.output) as file,
    ):
        for block in source.blocks(stage):
            pairs = zip(labels_of(block, source.name), texts_of(block), strict=True)
            file.write("".join(LINES[to](label, text) for label, text in pairs).encode())
            n += size_of(block)
    return {"documents": n}


def _tsv(label: str, text: Any) -> str:
    """Line ends are blanks in TSV: the line is the document's. So are tabs in a label."""
    if not isinstance(text, str):
        raise UserError("documents that are features have no line of TSV; jsonl holds them")
    return f"{BREAKS.sub(' ', label)}\t{LINE_ENDS.sub(' ', text)}\n"


def _jsonl(label: str, text: Any) -> str:
    return json.dumps({"label": label, "text": text}, ensure_ascii=False) + "\n"


LINES = {"tsv": _tsv, "jsonl": _jsonl}


def output(path: str) -> contextlib.AbstractContextManager[BinaryIO]:
    """Where it goes; - is standard output."""
    return contextlib.nullcontext(sys.stdout.buffer) if path == "-" else created(path)


def _by_name(path: str) -> str | None:
    """What the name of the output says; None: shards of the kind that is best here."""
    return SUFFIXES.get(InputFile(path).suffix)
