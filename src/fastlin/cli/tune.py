"""`fastlin tune`: a path of values of one parameter, judged on other documents."""

import argparse
import copy
import json
import time
from typing import Any

from fastlin.cli import learners, models
from fastlin.cli.messages import UserError, did_you_mean
from fastlin.cli.preparing import prepare
from fastlin.cli.progress import Progress
from fastlin.cli.train import fit

Row = dict[str, float]
PATH_TOL = 1e-6  # of logistic; within the usual 1e-4, the optimum of one large C often is that of the next


def run(options: argparse.Namespace) -> int:
    progress = Progress(options)
    if options.model is not None:
        models.check_target(options.model, options)
    models.check_dev(options)
    learner = learners.learner(options)
    name, values = path_of(options, learner)
    data = prepare(options, progress)
    if learners.LEARNERS[options.learner].warm and name == "C":
        learner.set_params(warm_start=True)  # each fit of the path begins where the last one ended
        if options.learner == "logistic" and "tol" not in dict(options.set):
            learner.set_params(tol=PATH_TOL)
    rows: list[Row] = []
    best: Any = None
    for value in values:
        started = time.perf_counter()
        learner.set_params(**{name: value})
        fit(learner, lambda: data.fit(learner), progress)
        seconds = time.perf_counter() - started
        model = models.pipeline([*data.steps, ("learner", learner)])
        rows.append({name: value, "seconds": seconds, **judge(model, options, progress)})
        if choose(rows, options.metric) is rows[-1]:
            best = copy.copy(learner)  # the next fit replaces what was learnt, and changes none of it
        show(rows, options)
    if "warm_start" in best.get_params(deep=False):
        best.set_params(warm_start=False)
    chosen = choose(rows, options.metric)
    facts = {"parameter": name, "best": chosen[name], "path": rows}
    facts |= models.save(models.pipeline([*data.steps, ("learner", best)]), options, progress)
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        print(f"best: {name} = {chosen[name]:g}" + ("" if options.model is None else f", saved as {options.model}"))
    return 0


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
    return name, sorted(options.path or values, reverse=name == "alpha")


def judge(model: Any, options: argparse.Namespace, progress: Progress) -> Row:
    """The figures of a fit on the documents that decide."""
    found = models.evaluate(model, [options.dev], options, progress)
    figures = {"accuracy": found.accuracy, "macro_f1": found.macro_f1}
    return figures if found.log_loss is None else {**figures, "log_loss": found.log_loss}


def choose(rows: list[Row], metric: str) -> Row:
    """The best row; the first, which has the strongest prior, among equals."""
    if metric not in rows[0]:
        raise UserError(f"--metric {metric}: this learner has no probabilities")
    return min(rows, key=lambda row: row[metric]) if metric == "log_loss" else max(rows, key=lambda row: row[metric])


def show(rows: list[Row], options: argparse.Namespace) -> None:
    """The last row of the table, and the head above the first."""
    if options.json or options.quiet:
        return
    if len(rows) == 1:
        print("  ".join(f"{name:>10}" for name in rows[0]))
    print("  ".join(f"{value:>10.4g}" for value in rows[-1].values()), flush=True)
