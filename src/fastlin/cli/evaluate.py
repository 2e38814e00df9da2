"""`fastlin evaluate`: how a model does on labelled documents."""

import argparse
import json
import sys
from typing import Any

from fastlin.cli import models
from fastlin.cli.documents import blocks
from fastlin.cli.messages import UserError
from fastlin.cli.progress import Progress, Stage
from fastlin.inspect import Report, Tally


def run(options: argparse.Namespace) -> int:
    model = models.load(options.model, options.jobs)
    with Progress(options).stage("evaluating") as stage:
        found = evaluate(model, options, stage)
    print(json.dumps(found.as_dict()) if options.json else found)
    if options.min_accuracy is not None and found.accuracy < options.min_accuracy:
        print(f"fastlin evaluate: the accuracy is below {options.min_accuracy:g}", file=sys.stderr)
        return 1
    return 0


def evaluate(model: Any, options: argparse.Namespace, stage: Stage) -> Report:
    """The report of a model on labelled files, of which a block at a time is in memory."""
    tally, seen = Tally(model.classes_), 0
    for block in blocks(options.files, options, stage):
        probabilities = model.predict_proba(block.documents) if hasattr(model, "predict_proba") else None
        tally.add(block.labels, model.predict(block.documents), probabilities)
        seen += len(block.labels)
    if not seen:
        raise UserError(f"{', '.join(options.files)}: there are no documents")
    return tally.report()
