"""`fastlin evaluate`: how a model does on labelled documents."""

import argparse
import json
import sys

from fastlin.cli import models
from fastlin.cli.progress import Progress


def run(options: argparse.Namespace) -> int:
    model = models.load(options.model, options.jobs)
    found = models.evaluate(model, options.files, options, Progress(options))
    print(json.dumps(found.as_dict()) if options.json else found)
    if options.min_accuracy is not None and found.accuracy < options.min_accuracy:
        print(f"fastlin evaluate: the accuracy is below {options.min_accuracy:g}", file=sys.stderr)
        return 1
    return 0
