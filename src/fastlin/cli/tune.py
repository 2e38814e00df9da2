"""`fastlin tune`: a path of values of one parameter, judged on other documents, or on parts of those at hand."""

import argparse
import json
from typing import Any

from fastlin.cli import learners, model_io
from fastlin.cli.errors import UserError, did_you_mean
from fastlin.cli.progress import Progress
from fastlin.cli.training_data import prepare
from fastlin.cli.trials import Folds, HeldOut, Row

LABEL_FIGURES, NUMBER_FIGURES = ("accuracy", "macro_f1", "log_loss"), ("r2", "mae", "rmse")
FIGURES = LABEL_FIGURES, NUMBER_FIGURES  # by whether the learner is one of numbers; the first decides if none is named
LOSSES = "log_loss", "mae", "rmse"  # which are better where they are lower


def run(options: argparse.Namespace) -> int:
    progress = Progress(options)
    choose_metric(options)
    if options.model is not None:
        model_io.check_target(options.model, options)
    check_who_decides(options)
    learner = learners.learner(options)
    name, values = path_of(options, learner)
    data = prepare(options, progress)
    if learners.LEARNERS[options.learner].warm and name == "C":
        learner.set_params(warm_start=True)  # each fit of the path begins where the last one ended
    trials = (Folds if options.folds else HeldOut)(data, learner, options, progress)
    rows: list[Row] = []
    for value in values:
        rows.append(trials.row(name, value))
        if choose(rows, options.metric) is rows[-1]:
            trials.keep()
        show(rows, options)
    chosen = choose(rows, options.metric)[name]
    best = trials.learnt(name, chosen)
    if "warm_start" in best.get_params(deep=False):
        best.set_params(warm_start=False)
    facts = {"parameter": name, "best": chosen, "path": rows}
    facts |= model_io.save(model_io.pipeline([*data.steps, ("learner", best)]), options, progress)
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        print(f"best: {name} = {chosen:g}" + ("" if options.model is None else f", saved as {options.model}"))
    return 0


def check_who_decides(options: argparse.Namespace) -> None:
    """Whether there are documents that decide: others, or parts of those at hand."""
    if (options.dev is None) == (options.folds is None):
        raise UserError("either --dev FILE or --folds N must say on what the values are tried")
    if options.folds is not None and options.folds < 2:
        raise UserError(f"--folds takes 2 parts or more, got {options.folds}")
    model_io.check_dev(options)


def choose_metric(options: argparse.Namespace) -> None:
    """The metric that decides, if none is named, and whether the learner can have the one that is."""
    metrics = FIGURES[options.learner in learners.REGRESSORS]
    if options.metric is None:
        options.metric = metrics[0]
    elif options.metric not in metrics:
        raise UserError(f"--metric {options.metric}: {options.learner} has {', '.join(metrics)}")


def path_of(options: argparse.Namespace, learner: Any) -> tuple[str, list[float]]:
    """Which parameter, and its values, from the strongest prior to the weakest."""
    usual, values = learners.LEARNERS[options.learner].path or (None, ())
    name, known = options.parameter or usual, learner.get_params(deep=False)
    if name is None:
        raise UserError(f"{options.learner} has neither C nor alpha: say what to tune with --parameter and --path")
    if name not in known:
        raise UserError(f"--parameter: {options.learner} has no {name}{did_you_mean(name, known)}")
    if options.path is None and name != usual:
        raise UserError(f"--path must say which values of {name} to try")
    return name, sorted(options.path or values, reverse=name in ("alpha", "r"))


def choose(rows: list[Row], metric: str) -> Row:
    """The best row; the first, which has the strongest prior, among equals."""
    if metric not in rows[0]:
        raise UserError(f"--metric {metric}: this learner has no probabilities")
    return (min if metric in LOSSES else max)(rows, key=lambda row: row[metric])


def show(rows: list[Row], options: argparse.Namespace) -> None:
    """The last row of the table, and the head above the first."""
    if options.json or options.quiet:
        return
    if len(rows) == 1:
        print("  ".join(f"{name:>10}" for name in rows[0]))
    print("  ".join(f"{value:>10.4g}" for value in rows[-1].values()), flush=True)
