"""`fastlin evaluate`: how a model does on labelled documents."""

import argparse
import json

from fastlin.cli import models
from fastlin.cli.documents import blocks
from fastlin.cli.messages import UserError
from fastlin.cli.progress import Progress
from fastlin.inspect import Report, Tally


def run(options: argparse.Namespace) -> int:
    model = models.load(options.model, options.jobs)
    found = evaluate(model, options.files, options)
    print(json.dumps(found.as_dict()) if options.json else found)
    if options.min_accuracy is not None and found.accuracy < options.min_accuracy:
        raise CheckFailed(f"the accuracy is {found.accuracy:.4f}, below {options.min_accuracy:g}")
    return 0


def evaluate(model, files, options):
    tally = Tally(model.classes_)
    n = 0
    with Progress(options).stage("evaluating") as stage:
        for block in blocks(files, options, stage):
            if hasattr(model, "predict_proba"):
                probabilities = model.predict_proba(block.documents)
                predicted = model.classes_[probabilities.argmax(axis=1)]
            else:
                probabilities, predicted = None, model.predict(block.documents)
            tally.add(block.labels, predicted, probabilities)
            n += len(block.labels)
    if not n:
        raise UserError(f"{', '.join(files)}: there are no documents")
    return tally.report()
