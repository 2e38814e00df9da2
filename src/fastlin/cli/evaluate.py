"""`fastlin evaluate`: how a model does on labelled documents."""

import argparse
import json
import sys
from typing import Any

from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.cli.labels import all_shown
from fastlin.cli.model_io import Answers
from fastlin.cli.progress import Progress
from fastlin.inspection import RankingAccumulator, Report, compare
from fastlin.inspection.weights import learner_of


def run(options: argparse.Namespace) -> int:
    if any(k < 1 for k in options.top or ()):
        raise UserError(f"--top takes numbers of labels from 1 on, got {min(options.top)}")
    if options.min_precision is not None and not 0 < options.min_precision <= 1:
        raise UserError(f"--min-precision takes a share above 0 and up to 1, got {options.min_precision:g}")
    paths, files = model_io.named_models(options)
    models = [model_io.load(path, options.jobs, kinds=model_io.LABELLERS) for path in paths]
    if any(model_io.kind_of(model) == "regressor" for model in models):
        return _of_numbers(paths, models, files, options)
    if options.min_r2 is not None:
        raise UserError("--min-r2 is of models that predict numbers, and this one predicts labels")
    if len(models) > 1:
        return _compared(paths, models, files, options)
    (model,) = models
    ranked = options.auc or options.top or options.threshold or options.min_precision is not None
    ranks = RankingAccumulator(all_shown(model.classes_)) if ranked else None

    def rank(_: Any, answers: list[Answers]) -> None:
        ((labels, _, probabilities, X),) = answers
        if ranks is not None:
            scores = model_io.scores_of(learner_of(model), X) if probabilities is None else probabilities
            ranks.add(labels, scores)

    (found,) = model_io.evaluate(models, files, options, Progress(options), rank)
    ranking = None if ranks is None else ranks.report(
        auc=options.auc, top=options.top or (), thresholds=options.threshold or (), min_precision=options.min_precision
    )  # fmt: skip
    if options.json:
        print(json.dumps({**found.as_dict(), **({} if ranking is None else {"ranking": ranking.as_dict()})}))
    else:
        print(found if ranking is None else f"{found}\n\n{ranking}")
    return _checked(found, options)


def _compared(paths: list[str], models: list[Any], files: list[str], options: argparse.Namespace) -> int:
    """The first model and each other one on the same documents; what is checked is the last."""
    if options.auc or options.top or options.threshold or options.min_precision is not None:
        raise UserError("--auc, --top, --threshold and --min-precision are of one model")
    right: list[Any] = []
    answers: list[list[Any]] = [[] for _ in models]

    def keep(_: Any, found: list[Answers]) -> None:
        right.extend(map(str, found[0].labels))
        for kept, one in zip(answers, found, strict=True):
            kept.extend(map(str, one.predicted))

    reports = model_io.evaluate(models, files, options, Progress(options), keep)
    compared = [
        compare(right, answers[0], other, figure=figure) for other in answers[1:] for figure in ("accuracy", "macro_f1")
    ]
    if options.json:
        plain = [{"model": path, **report.as_dict()} for path, report in zip(paths, reports, strict=True)]
        print(json.dumps({"models": plain, "comparisons": [one.as_dict() for one in compared]}))
    else:
        parts = [f"{path}\n{report}" for path, report in zip(paths, reports, strict=True)]
        pairs = [path for path in paths[1:] for _ in ("accuracy", "macro_f1")]
        parts += [f"{paths[0]} and {path}\n{one}" for path, one in zip(pairs, compared, strict=True)]
        print("\n\n".join(parts))
    return _checked(reports[-1], options)


def _of_numbers(paths: list[str], models: list[Any], files: list[str], options: argparse.Namespace) -> int:
    """Regressors on documents with targets; what is checked is the last."""
    for path, model in zip(paths, models, strict=True):
        if model_io.kind_of(model) != "regressor":
            raise UserError(f"{path} predicts labels, and others of the models numbers: evaluate them one by one")
    for name in ("auc", "top", "threshold", "min_precision", "min_accuracy", "min_f1"):
        if getattr(options, name):
            raise UserError(f"--{name.replace('_', '-')} is of labels, and this model predicts numbers")
    reports = model_io.evaluate_numbers(models, files, options, Progress(options))
    if options.json:
        plain = [{"model": path, **found.as_dict()} for path, found in zip(paths, reports, strict=True)]
        print(json.dumps(reports[0].as_dict() if len(reports) == 1 else {"models": plain}))
    else:
        named = [
            str(found) if len(paths) == 1 else f"{path}\n{found}" for path, found in zip(paths, reports, strict=True)
        ]
        print("\n\n".join(named))
    if options.min_r2 is not None and reports[-1].r2 < options.min_r2:
        print(f"fastlin evaluate: R² is below {options.min_r2:g}", file=sys.stderr)
        return 1
    return 0


def _checked(found: Report, options: argparse.Namespace) -> int:
    """The exit code: 1 if a figure is below what was asked for."""
    for name, figure, least in (
        ("accuracy", found.accuracy, options.min_accuracy),
        ("macro F1", found.macro_f1, options.min_f1),
    ):
        if least is not None and figure < least:
            print(f"fastlin evaluate: the {name} is below {least:g}", file=sys.stderr)
            return 1
    return 0
