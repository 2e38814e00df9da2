"""Labelled and unlabelled documents from files and pipes, block by block."""

import argparse
import gzip
import lzma
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastlin.cli.messages import UserError
from fastlin.cli.progress import Stage


class Block(NamedTuple):
    """Some documents: texts, or rows of a matrix; labels, if there are any."""

    documents: Any
    labels: Any


BLOCK = 1 << 20


def format_of(path: str, options: argparse.Namespace, labelled: bool) -> str:
    if options.format:
        return options.format
    for suffix in (".gz", ".xz", ".zst"):
        path = path.removesuffix(suffix)
    for name, kind in {
        ".tsv": "tsv",
        ".csv": "csv",
        ".txt": "lines",
        ".svm": "svmlight",
        ".svmlight": "svmlight",
        ".libsvm": "svmlight",
    }.items():
        if path.endswith(name):
            return kind
    return "tsv" if labelled else "lines"


def is_matrix(files: list[str], options: argparse.Namespace, labelled: bool = True) -> bool:
    return format_of(files[0], options, labelled) in ("svmlight",)


def opened(path: str) -> Any:
    if path == "-":
        return sys.stdin.buffer
    if path.endswith(".gz"):
        return gzip.open(path)
    if path.endswith(".xz"):
        return lzma.open(path)
    return open(path, "rb")


def blocks(files: list[str], options: argparse.Namespace, stage: Stage, labelled: bool = True) -> Iterator[Block]:
    n = 0
    for path in files:
        kind = format_of(path, options, labelled)
        name = "standard input" if path == "-" else path
        with opened(path) as stream:
            rest, number = b"", 0
            while True:
                data = stream.read1(BLOCK)
                lines = (rest + data).split(b"\n")
                rest = lines.pop()
                if not data and rest:
                    lines.append(rest)
                texts, labels = [], []
                for line in lines:
                    number += 1
                    try:
                        text = line.decode("utf-8").removesuffix("\r")
                        if kind != "lines":
                            label, tab, text = text.partition("\t")
                            if not tab:
                                raise ValueError("expected label<TAB>text")
                            labels.append(label)
                    except ValueError as error:
                        if options.on_error == "skip":
                            continue
                        raise UserError(f"{name}, line {number}: {error}") from None
                    texts.append(text)
                if texts:
                    n += len(texts)
                    stage.update(n)
                    yield Block(texts, labels if labelled else None)
                if not data:
                    break


def collect(files: list[str], options: argparse.Namespace, stage: Stage) -> Block:
    texts, labels = [], []
    for block in blocks(files, options, stage):
        texts += block.documents
        labels += block.labels
    if not texts:
        raise UserError(f"{', '.join(files)}: there are no documents")
    return Block(texts, labels)
