"""`fastlin predict`: documents in, a line for each out."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.cli import models
from fastlin.cli.documents import Source, documents_of
from fastlin.cli.messages import UserError
from fastlin.cli.progress import Progress


def run(options: argparse.Namespace) -> int:
    if options.top < 0:
        raise UserError(f"--top takes a number of labels, got {options.top}")
    model = models.load(options.model, options.jobs, verify=not options.no_verify)
    progress = Progress(options)
    with (
        Source(options.files, options, labelled=False) as source,
        progress.stage(f"reading {source.name}", source.bytes) as stage,
    ):
        for block in source.blocks(stage):
            found = lines(model, documents_of(block, model), options)
            sys.stdout.write("".join(f"{line}\n" for line in found))
            sys.stdout.flush()  # whoever reads the pipe waits for these lines
    return 0


def lines(model: Any, documents: Any, options: argparse.Namespace) -> Iterator[str]:
    """What is printed of each document."""
    if options.top == 1 and not (options.proba or options.scores):
        labels = model.predict(documents).tolist()
        return (json.dumps({"label": whole(label)}) if options.json else str(whole(label)) for label in labels)
    names = [whole(label) for label in model.classes_.tolist()]
    figures = figures_of(model, documents, options.proba)
    order = np.argsort(-figures, axis=1, kind="stable")[:, : options.top or None]
    shown = options.proba or options.scores
    return (
        (as_json if options.json else as_text)([(names[k], figures[row, k]) for k in best], shown)
        for row, best in enumerate(order.tolist())
    )


def whole(label: Any) -> Any:
    """The labels of svmlight are floats: 3.0 was 3 in the file."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def as_text(labels: list[tuple[Any, float]], shown: bool) -> str:
    return "\t".join(f"{label}\t{figure:.6g}" if shown else str(label) for label, figure in labels)


def as_json(labels: list[tuple[Any, float]], shown: bool) -> str:
    best = [{"label": label, "value": float(figure)} if shown else {"label": label} for label, figure in labels]
    return json.dumps({**best[0], "labels": best} if len(best) > 1 else best[0])


def figures_of(model: Any, documents: Any, probabilities: bool) -> NDArray[np.float64]:
    """A probability, or a score, for each label of each document."""
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise UserError("this model has no probabilities; --scores shows what it has")
        return model.predict_proba(documents)
    if hasattr(model, "decision_function"):
        scores = model.decision_function(documents)
        return scores if scores.ndim == 2 else np.column_stack([-scores, scores])
    return model.predict_log_proba(documents)
