"""`fastlin predict`: documents in, a line for each out."""

import argparse
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.cli.inputs import InputSource, documents_of
from fastlin.cli.labels import all_shown
from fastlin.cli.progress import Progress
from fastlin.cli.reading import kept_columns
from fastlin.data import Block, Documents

BREAKS = re.compile(r"[\t\r\n]+")  # which end a column or a line of TSV


def run(options: argparse.Namespace) -> int:
    if options.top < 0:
        raise UserError(f"--top takes a number of labels, got {options.top}")
    model = model_io.load(options.model, options.jobs, verify=not options.no_verify, kinds=model_io.LABELLERS)
    if numbers := model_io.kind_of(model) == "regressor":
        refuse_labels(options)
    progress = Progress(options)
    with (
        InputSource(options.files, options, labelled=False, first_index=model_io.first_index(model)) as source,
        progress.stage(f"reading {source.name}", source.bytes) as stage,
    ):
        model_io.check_first_index(model, source)
        for block in source.blocks(stage):
            write = number_lines if numbers else lines
            found = write(model, documents_of(block, model), columns_of(block, options), options)
            sys.stdout.write("".join(f"{line}\n" for line in found))
            sys.stdout.flush()  # whoever reads the pipe waits for these lines
    return 0


def columns_of(block: Block | Documents, options: argparse.Namespace) -> dict[Any, list[Any]]:
    """The columns of a block that are handed on."""
    wanted = kept_columns(options)
    if wanted and not isinstance(block, Documents):
        raise UserError(f"--id and --keep are for columns, and {block.path} holds rows of numbers")
    return {name: block.columns[name] for name in wanted} if isinstance(block, Documents) and block.columns else {}


def lines(model: Any, documents: Any, columns: dict[Any, list[Any]], options: argparse.Namespace) -> Iterator[str]:
    """The lines that are printed, one for each document: the columns that are handed on, and its labels."""
    with_figures = options.proba or options.scores
    found: Iterable[list[tuple[Any, float | None]]]
    if options.top == 1 and not with_figures:
        found = ([(label, None)] for label in all_shown(model.predict(documents)))
    else:
        names = all_shown(model.classes_)
        figures = figures_of(model, documents, options.proba)
        order = np.argsort(-figures, axis=1, kind="stable")[:, : options.top or None].tolist()
        found = (
            [(names[k], float(figures[row, k]) if with_figures else None) for k in best]
            for row, best in enumerate(order)
        )
    kept = zip(*columns.values(), strict=True) if columns else itertools.repeat(())
    write = as_json if options.json else as_text
    return (write(dict(zip(columns, values, strict=True)), labels) for values, labels in zip(kept, found, strict=False))


def refuse_labels(options: argparse.Namespace) -> None:
    """Refuse what a model of numbers has not."""
    for name, given in (("--proba", options.proba), ("--scores", options.scores), ("--top", options.top != 1)):
        if given:
            raise UserError(f"{name} is of labels, and this model predicts numbers")


def number_lines(
    model: Any, documents: Any, columns: dict[Any, list[Any]], options: argparse.Namespace
) -> Iterator[str]:
    """The lines of a regressor: the columns that are handed on, and a number, in as many digits as tell it apart."""
    kept = zip(*columns.values(), strict=True) if columns else itertools.repeat(())
    for values, number in zip(kept, model.predict(documents).tolist(), strict=False):
        named = dict(zip(columns, values, strict=True))
        if options.json:
            yield json.dumps(columns_as_json(named) | {"value": number}, default=str)
        else:
            yield as_text(named, [(number, None)])


def as_text(kept: dict[Any, Any], labels: list[tuple[Any, float | None]]) -> str:
    """Columns of TSV; tabs and line ends within a label, or a value that was handed on, are blanks."""
    values = [value if isinstance(value, str) else json.dumps(value, default=str) for value in kept.values()]
    shown = (as_column(label) if figure is None else f"{as_column(label)}\t{figure:.6g}" for label, figure in labels)
    return "\t".join([*(BREAKS.sub(" ", value) for value in values), *shown])


@lru_cache(1 << 16, typed=True)
def as_column(label: Any) -> str:
    """A label in a column of TSV."""
    return BREAKS.sub(" ", str(label))


def as_json(kept: dict[Any, Any], labels: list[tuple[Any, float | None]]) -> str:
    best = [{"label": label} if figure is None else {"label": label, "value": figure} for label, figure in labels]
    return json.dumps({**columns_as_json(kept), **best[0], **({"labels": best} if len(best) > 1 else {})}, default=str)


def columns_as_json(kept: dict[Any, Any]) -> dict[str, Any]:
    """The columns that were handed on, as an object."""
    return {"columns": {str(name): value for name, value in kept.items()}} if kept else {}


def figures_of(model: Any, documents: Any, probabilities: bool) -> NDArray[np.float64]:
    """A probability, or a score, for each label of each document."""
    if not probabilities:
        return model_io.scores_of(model, documents)
    if not hasattr(model, "predict_proba"):
        raise UserError("this model has no probabilities; --scores shows what it has")
    return model.predict_proba(documents)
