"""`fastlin tune`: a path of values of one parameter, judged on other documents."""

import argparse
import copy
import json
import time
from typing import Any

from fastlin.cli import learners, models
from fastlin.cli.documents import collect, is_matrix
from fastlin.cli.messages import UserError, did_you_mean
from fastlin.cli.progress import Progress
from fastlin.cli.train import featurise, fit, pipeline, save
from fastlin.inspect import report


def run(options: argparse.Namespace) -> int:
    progress, chosen = Progress(options), learners.LEARNERS[options.learner]
    if options.model is not None:
        models.check_target(options.model)
    learner = learners.learner(options)
    name, values = path_of(options, learner)
    steps = [] if is_matrix(options.files, options) else learners.vectoriser(options)
    with progress.stage("reading") as stage:
        data, held = collect(options.files, options, stage), collect([options.dev], options, stage)
    X, X_dev = featurise(steps, data, progress), held.documents
    for _, step in steps:
        X_dev = step.transform(X_dev)
    if chosen.warm and name == "C":
        learner.set_params(warm_start=True)
    rows, best, best_score = [], None, 0.0
    for value in values:
        started = time.perf_counter()
        learner.set_params(**{name: value})
        fit(learner, X, data.labels, progress)
        row = {name: value, "seconds": time.perf_counter() - started, **judge(learner, X_dev, held.labels)}
        rows.append(row)
        score = -row["log_loss"] if options.metric == "log_loss" else row[options.metric]
        if best is None or score > best_score:
            best, best_score = copy.copy(learner), score
        show(row, len(rows) == 1, options)
    winner = max(rows, key=lambda row: -row["log_loss"] if options.metric == "log_loss" else row[options.metric])
    best.set_params(warm_start=False) if chosen.warm else None
    facts = {"best": winner, "path": rows, **save(pipeline(steps, best), None, options)}
    print(json.dumps(facts) if options.json else f"best: {name} = {winner[name]:g}")
    return 0


def path_of(options, learner):
    default = learners.LEARNERS[options.learner].path
    known = learner.get_params(deep=False)
    name = options.parameter or (default[0] if default else None)
    if name is None:
        raise UserError(f"{options.learner} has neither C nor alpha; name what to tune with --parameter and --path")
    if name not in known:
        raise UserError(f"--parameter {name}: no such parameter{did_you_mean(name, known)}")
    values = options.path or (default[1] if default and default[0] == name else None)
    if values is None:
        raise UserError(f"--path says which values of {name} to try")
    return name, sorted(values, reverse=name == "alpha")


def judge(learner: Any, X: Any, y: Any) -> dict[str, float]:
    probabilities = learner.predict_proba(X) if hasattr(learner, "predict_proba") else None
    found = report(y, learner.predict(X), probabilities, learner.classes_)
    return {"accuracy": found.accuracy, "macro_f1": found.macro_f1, "log_loss": found.log_loss}


def show(row, first, options):
    if options.json or options.quiet:
        return
    if first:
        print("  ".join(f"{name:>10}" for name in row))
    print("  ".join(f"{value:>10.4g}" if value is not None else f"{'':>10}" for value in row.values()), flush=True)
