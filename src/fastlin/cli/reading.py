"""From the options of a command line to those of `fastlin.data.read`, for its files and for those held out."""

import argparse
from typing import Any

from fastlin.data import FORMATS, conversion
from fastlin.data.reader import BY_SUFFIX
from fastlin.data.readers import sources
from fastlin.registry import FILE_FORMATS


def formats_of(names: list[str]) -> set[str | None]:
    """The formats that the suffixes of files say; None: one says nothing."""
    return {BY_SUFFIX.get(file.suffix) for name in names for file in sources.files(name)}


def options_of(options: argparse.Namespace, form: str | None, labelled: bool) -> dict[str, Any]:
    """How to read files of a format; of documents to predict the label is read only where it can be missed."""
    chosen: dict[str, Any] = {"on_error": options.on_error}
    for name in ("label", "weight"):
        if (value := getattr(options, name, None)) is not None:
            chosen[name] = None if value == "none" else _column(value)
    if options.text:
        texts = [_column(value) for value in options.text]
        chosen["text"] = texts[0] if len(texts) == 1 else texts
    if kept := kept_columns(options):
        chosen["keep"] = kept
    for name in ("delimiter", "header", "encoding", "errors"):
        if (value := getattr(options, name)) is not None:
            chosen[name] = value
    if form == "svmlight" and "weight" in chosen:
        chosen["weight"] = True
    headed = form == "csv" and options.header is not False  # without, the label comes first
    if not labelled and ((form is not None and FILE_FORMATS[form].may_lack_labels) or headed or "text" in chosen):
        chosen.setdefault("label", None)
    return chosen


def kept_columns(options: argparse.Namespace) -> list[int | str]:
    """The columns that predict hands on: the one that names a document, and others."""
    first = [] if getattr(options, "id", None) is None else [options.id]
    return [_column(value) for value in (*first, *(getattr(options, "keep", None) or ()))]


def _column(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def of_dev(options: argparse.Namespace) -> argparse.Namespace:
    """The options for the documents held out: those for the others, as far as they hold for files of their format.

    Their format is what their suffix says, if that differs from the suffix of the others and stands for documents with
    labels. Their weights count for nothing.
    """
    found = argparse.Namespace(**vars(options))
    if conversion.is_stored(options.dev):
        return found
    own, others = formats_of([options.dev]), formats_of(options.files)
    if len(own) == 1 and None not in own and "lines" not in own and own != others:
        (found.format,) = own
    form = found.format or next(iter(own))
    if form is None or form not in FORMATS:
        form = "tsv"
    if options.weight is not None and form != "svmlight":
        found.weight = None
    if form != (options.format or ("tsv" if others == {None} else next(iter(others)))):
        found.delimiter = found.header = None
    for name in ("label", "text"):
        if name not in FILE_FORMATS[form].options:
            setattr(found, name, None)
    if form == "tsv" and form not in others and not _is_header(options):
        found.label = found.text = None
    return found


def _is_header(options: argparse.Namespace) -> bool:
    """Whether the first line held out names the columns that are asked for by name, as TSV may, but need not."""
    names = {name for name in (options.label, *(options.text or ())) if isinstance(_column(name or "0"), str)}
    first = next(sources.line_blocks(sources.files(options.dev)[0]), None)
    line = b"" if first is None else next(iter(first.text.splitlines()), b"")
    return names <= {*line.decode(options.encoding or "utf-8", "replace").split("\t"), "none"}
