"""`fastlin spell`: misspelt words, corrected by their context."""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import fastlin
from fastlin.channel import SpellingCorrector
from fastlin.cli import lm, model_io
from fastlin.cli.errors import UserError
from fastlin.cli.learners import build
from fastlin.cli.progress import Progress
from fastlin.cli.train import fit
from fastlin.data import read
from fastlin.data.readers import sources

NAMED = "order", "min_count", "max_edits", "error_rate", "edit_probability"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
SHOWN = 5  # words that one may stand for, in a dialogue


def train(options: argparse.Namespace) -> int:
    """Text in, a model file out."""
    started, progress = time.perf_counter(), Progress(options)
    options.dev, options.learner = None, "spelling"
    model_io.check_target(options.model, options)
    given = [name for name in ("files", "source", "dictionary") if getattr(options, name)]
    if len(given) != 1:
        raise UserError("spell train learns from FILE, or --source FILE, or --dictionary FILE: from one of them")
    model = build(options, SpellingCorrector, {}, {name: getattr(options, name) for name in NAMED})
    if options.files:
        text = sys.stdin.buffer if options.files == ["-"] else options.files[0]
        X: Any = text if len(options.files) == 1 else read(options.files, "lines")
    else:
        X = None
        model.set_params(source=_dictionary(options.dictionary) if options.dictionary else _source(options.source))
    pairs = None if options.pairs is None else _pairs(options.pairs)
    fit(model, lambda: model.fit(X, pairs=pairs), progress)
    facts = {"model": options.model, "words": len(model.words_), "rules": model.n_rules_}
    facts |= fastlin.save(model, options.model)
    facts["seconds"] = time.perf_counter() - started
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        print(
            f"{options.model}: {facts['words']:,} words, {facts['rules']:,} rules of misspelling, "
            f"{facts['bytes'] / 1e6:.1f} MB, {facts['seconds']:.1f} s"
        )
    return 0


def correct(options: argparse.Namespace) -> int:
    """Text in; the same with its misspelt words corrected out."""
    if options.suggest is not None and options.interactive:
        raise UserError("--suggest reads words, and --interactive lines of text: one of them")
    model = model_io.load(options.model, options.jobs, not options.no_verify, kinds=("speller",))
    if options.error_rate is not None:
        model.set_params(error_rate=options.error_rate)
    if options.interactive:
        return _talk(model)
    for text in _texts(options.files):
        if options.suggest is None:
            _write(model.correct(text))
        else:
            for word in text.splitlines():
                _suggest(model, word, options)
    return 0


def _texts(files: list[str]) -> Iterator[str]:
    """Files in pieces of whole lines, those of a pipe as they come; bytes that are not UTF-8 pass as they are."""
    for file in sources.files(files):
        for lines in _pieces(file):
            yield lines.decode("utf-8", "surrogateescape")


def _pieces(file: sources.InputFile) -> Iterator[bytes]:
    """The bytes of a file as they are, decompressed."""
    if file.stream is not None:
        yield from file.stream
    elif file.name.endswith(COMPRESSED):
        yield from (piece.text for piece in sources.line_blocks(file))
    else:
        with open(file.name, "rb") as stream:
            while lines := stream.readlines(sources.BLOCK_BYTES):
                yield b"".join(lines)


def _write(text: str) -> None:
    """To standard output, byte for byte."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()  # whoever reads the pipe waits for these lines


def _suggest(model: Any, word: str, options: argparse.Namespace) -> None:
    found = model.suggest(word, options.suggest)
    if options.json:
        suggestions = [{"word": other, "log_proba": log_prob} for other, log_prob in found]
        _write(json.dumps({"word": word, "suggestions": suggestions}) + "\n")
    else:
        _write("\t".join([word, *(f"{other} {log_prob:.4f}" for other, log_prob in found)]) + "\n")


def _talk(model: Any) -> int:
    """A dialogue: a line in, its correction out, and what else the changed words may stand for."""
    while True:
        sys.stdout.write("> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            print()
            return 0
        corrected = model.correct(line)
        _write(corrected if corrected.endswith("\n") else corrected + "\n")
        for piece in line.splitlines(keepends=True):  # one, but for signs that end lines elsewhere
            for start, stop, new in next(model._changes([piece])):
                if (old := piece[start:stop]) != new:
                    others = ", ".join(f"{word} {log_prob:.2f}" for word, log_prob in model.suggest(old, SHOWN))
                    _write(f"  {old} -> {new} (alone: {others})\n")


# --- what is learnt from ---------------------------------------------------------------------------------------------


def _source(path: str) -> Any:
    return lm.load(path, argparse.Namespace(unit=None, direction=None, markup=None))


def _lines(path: str) -> Iterator[tuple[int, list[str]]]:
    """The number of each line that is not empty, and what stands between its tabs."""
    for number, line in enumerate((line for text in _texts([path]) for line in text.splitlines()), 1):
        if line.strip():
            yield number, line.split("\t")


def _dictionary(path: str) -> dict[str, float]:
    counts: dict[str, float] = {}
    for number, fields in _lines(path):
        count = _number(path, number, fields[1]) if len(fields) == 2 else 1.0
        if len(fields) > 2:
            raise UserError(f"{path}:{number}: a line is a word, or a word, a tab and its count")
        counts[fields[0].strip()] = counts.get(fields[0].strip(), 0.0) + count
    return counts


def _pairs(path: str) -> list[tuple[str, str, float]]:
    found = []
    for number, fields in _lines(path):
        if len(fields) not in (2, 3):
            raise UserError(f"{path}:{number}: a line is a right word, a tab, and how it was misspelt")
        found.append((fields[0], fields[1], _number(path, number, fields[2]) if len(fields) == 3 else 1.0))
    return found


def _number(path: str, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UserError(f"{path}:{line}: {text!r:.40} is no number above 0")
    return value
