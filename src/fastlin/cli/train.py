"""`fastlin train`: labelled documents in, a model file out."""

import argparse
import json
import time
from typing import Any

from fastlin.cli import learners, models
from fastlin.cli.documents import Block, collect, is_matrix
from fastlin.cli.messages import UserError
from fastlin.cli.progress import Progress, watch


def run(options: argparse.Namespace) -> int:
    started, progress = time.perf_counter(), Progress(options)
    models.check_target(options.model)
    told = checkpoints(options)
    learner = learners.learner(options)
    steps = [] if is_matrix(options.files, options) else learners.vectoriser(options)
    with progress.stage("reading") as stage:
        data = collect(options.files, options, stage)
    X = featurise(steps, data, progress)
    fit(learner, X, data.labels, progress, **told)
    model = pipeline(steps, learner)
    held = None
    if options.dev:
        with progress.stage(f"reading {options.dev}") as stage:
            held = collect([options.dev], options, stage)
    facts = save(model, held, options)
    facts |= {"documents": len(data.labels), "labels": len(learner.classes_), "features": learner.n_features_in_}
    facts["seconds"] = time.perf_counter() - started
    tell(facts, options)
    return 0


def featurise(steps: list[tuple[str, Any]], data: Block, progress: Progress) -> Any:
    """The matrix that a learner gets; the steps learn on the way."""
    X = data.documents
    with progress.stage("features") as stage:
        for _, step in steps:
            X = step.fit_transform(X)
            stage.update(len(data.labels), f"{X.shape[1]:,} features")
    return X


def fit(learner: Any, X: Any, y: Any, progress: Progress, **options: Any) -> None:
    """Train, and leave no trace of the progress in the learner."""
    before = learner.get_params(deep=False)
    epochs = before["max_iter"] if before.get("tol", 0) is None else None  # None: it ends when it has converged
    with progress.stage("learning", epochs, "epochs") as stage:
        if progress.shown:
            watch(learner, stage)
        try:
            learner.fit(X, y, **options)
        finally:
            learner.set_params(**before)


def checkpoints(options: argparse.Namespace) -> dict[str, Any]:
    """What a fit is told of its checkpoints."""
    if options.checkpoint is None:
        if options.resume:
            raise UserError("--resume needs --checkpoint: the file to go on from")
        return {}
    models.check_target(options.checkpoint)
    return {"checkpoint": options.checkpoint, "every": options.every, "resume": options.resume}


def pipeline(steps: list[tuple[str, Any]], learner: Any) -> Any:
    """From texts to labels; a matrix needs the learner alone."""
    if not steps:
        return learner
    from sklearn.pipeline import Pipeline

    return Pipeline([*steps, ("learner", learner)])


def save(model: Any, held: Block | None, options: argparse.Namespace) -> dict[str, Any]:
    """Save a model, and say what became of it on the documents held out."""
    facts = {} if held is None else {"dev_accuracy": float(model.score(held.documents, held.labels))}
    if options.model is None:
        return facts
    saved = models.save(model, options.model, dtype=options.quantise, prune=options.prune)
    return {"model": options.model, **facts, **saved}


def tell(facts: dict[str, Any], options: argparse.Namespace) -> None:
    """The summary of a training, on stdout."""
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        held = f", {facts['dev_accuracy']:.4f} of {options.dev} right" if "dev_accuracy" in facts else ""
        print(
            f"{options.model}: {options.learner} of {facts['labels']:,} labels and {facts['features']:,} features from "
            f"{facts['documents']:,} documents, {facts['bytes'] / 1e6:.1f} MB, {facts['seconds']:.1f} s{held}"
        )
