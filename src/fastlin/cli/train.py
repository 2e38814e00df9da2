"""`fastlin train`: labelled documents in, a model file out."""

import argparse
import inspect
import os
import time
from collections.abc import Callable
from typing import Any

from fastlin.cli import learners, model_io
from fastlin.cli.clusters import open_client
from fastlin.cli.errors import UserError
from fastlin.cli.progress import Progress, watch
from fastlin.cli.summary import tell
from fastlin.cli.training_data import prepare


def run(options: argparse.Namespace) -> int:
    if options.labels is not None:
        raise UserError("--labels belongs to --stream; without it, labels are those of the documents")
    started, progress = time.perf_counter(), Progress(options)
    model_io.check_target(options.model, options)
    model_io.check_dev(options)
    learner = learners.learner(options)
    told = checkpoints(options, learner)
    data = prepare(options, progress)
    if options.cluster is None:
        fit(learner, lambda: data.fit(learner, **told), progress)
    else:
        with open_client(options.cluster) as client:
            fit(learner, lambda: data.fit(learner.set_params(client=client), **told), progress)
            learner = learner.to_local()
    model_io.set_first_index(learner, data.first_index)
    facts = model_io.save(model_io.pipeline([*data.steps, ("learner", learner)]), options, progress)
    labels = {} if options.learner in learners.REGRESSORS else {"labels": len(learner.classes_)}
    facts |= {"documents": data.X.shape[0], **labels, "features": data.X.shape[1]}
    facts["seconds"] = time.perf_counter() - started
    tell(facts, options)
    return 0


def fit(learner: Any, learn: Callable[[], Any], progress: Progress) -> None:
    """Train, and leave no trace of the progress in the learner."""
    before = learner.get_params(deep=False)
    epochs = before["max_iter"] if before.get("tol", 0) is None else None  # None: it ends when it has converged
    with progress.stage("learning", epochs, "epochs") as stage:
        if progress.shown:
            watch(learner, stage)
        try:
            learn()
        finally:
            learner.set_params(**before)


def checkpoints(options: argparse.Namespace, learner: Any) -> dict[str, Any]:
    """What a fit is told of its checkpoints."""
    if options.checkpoint is None:
        if options.resume:
            raise UserError("--resume needs --checkpoint: the file to go on from")
        return {}
    model_io.check_target(options.checkpoint, options)
    if os.path.realpath(options.checkpoint) == os.path.realpath(options.model):
        raise UserError("--checkpoint and --model are the same file")
    if "checkpoint" not in inspect.signature(learner.fit).parameters:
        raise UserError(f"--checkpoint: {options.learner} has no state to go on from")
    return {
        "checkpoint": options.checkpoint,
        "checkpoint_interval": options.checkpoint_interval,
        "resume": options.resume,
    }
