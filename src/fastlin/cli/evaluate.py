"""`fastlin evaluate`: how a model does on labelled documents."""

import argparse
import json
import sys

from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.cli.labels import all_shown
from fastlin.cli.progress import Progress
from fastlin.inspection import RankingAccumulator


def run(options: argparse.Namespace) -> int:
    if any(k < 1 for k in options.top or ()):
        raise UserError(f"--top takes numbers of labels from 1 on, got {min(options.top)}")
    if options.min_precision is not None and not 0 < options.min_precision <= 1:
        raise UserError(f"--min-precision takes a share above 0 and up to 1, got {options.min_precision:g}")
    model = model_io.load(options.model, options.jobs)
    ranked = options.auc or options.top or options.threshold or options.min_precision is not None
    ranks = RankingAccumulator(all_shown(model.classes_)) if ranked else None
    found = model_io.evaluate(model, options.files, options, Progress(options), ranks)
    ranking = None if ranks is None else ranks.report(
        auc=options.auc, top=options.top or (), thresholds=options.threshold or (), min_precision=options.min_precision
    )  # fmt: skip
    if options.json:
        print(json.dumps({**found.as_dict(), **({} if ranking is None else {"ranking": ranking.as_dict()})}))
    else:
        print(found if ranking is None else f"{found}\n\n{ranking}")
    for name, figure, least in (
        ("accuracy", found.accuracy, options.min_accuracy),
        ("macro F1", found.macro_f1, options.min_f1),
    ):
        if least is not None and figure < least:
            print(f"fastlin evaluate: the {name} is below {least:g}", file=sys.stderr)
            return 1
    return 0
