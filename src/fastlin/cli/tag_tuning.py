"""`fastlin tag tune`: values of a parameter of a tagger, judged on other sentences, or on parts of those at hand."""

import argparse
import json
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

import fastlin
from fastlin.cli import model_io, taggers
from fastlin.cli.errors import UserError, did_you_mean
from fastlin.cli.progress import Progress
from fastlin.cli.sentence_inputs import Sentences, labels_of, tokens_of
from fastlin.cli.train import fit
from fastlin.cli.trials import Row, sizes
from fastlin.cli.tune import check_who_decides, show
from fastlin.sequence.conll_lines import Sentence
from fastlin.sequence.metrics import SpanTally

USUAL = {  # the parameter of each learner, and its values from the strongest prior to the weakest
    "crf": ("c2", (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)),
    "memm": ("C", (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)),
    "hmm": ("alpha", (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)),
}
FALLING = ("c1", "c2", "alpha", "transition_alpha", "start_alpha")  # of which large values are strong priors
Numbers = NDArray[np.int64]


def run(options: argparse.Namespace) -> int:
    progress = Progress(options)
    if options.model is not None:
        model_io.check_target(options.model, options)
    check_who_decides(options)
    model = taggers.tagger(options)
    name, values = path_of(options, model)
    sentences, columns = read(options.files, options, progress)
    model.set_params(features=taggers.features(options, len(sentences[0][0])))
    trials = Trials(sentences, model, options, progress)
    rows: list[Row] = []
    for value in values:
        rows.append(trials.row(name, value))
        if choose(rows, options.metric) is rows[-1]:
            trials.keep()
        show(rows, options)
    chosen = choose(rows, options.metric)[name]
    facts: dict[str, Any] = {"parameter": name, "best": chosen, "path": rows}
    if options.model is not None:
        best = trials.learnt(name, chosen)
        best.file_columns_ = columns
        facts |= {"model": options.model}
        facts |= fastlin.save(best, options.model, dtype=options.quantise, prune=options.prune)
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        print(f"best: {name} = {chosen:g}" + ("" if options.model is None else f", saved as {options.model}"))
    return 0


def path_of(options: argparse.Namespace, model: Any) -> tuple[str, list[Any]]:
    """Which parameter, and its values, from the strongest prior to the weakest."""
    usual, values = USUAL.get(options.learner, (None, ()))
    name, known = options.parameter or usual, model.get_params(deep=False)
    if name is None:
        raise UserError(f"{options.learner} has no prior: say what to tune with --parameter and --path")
    if name not in known:
        raise UserError(f"--parameter: {options.learner} has no {name}{did_you_mean(name, known)}")
    if options.path is None and name != usual:
        raise UserError(f"--path must say which values of {name} to try")
    whole = type(known[name]) is int
    if whole and not all(float(value).is_integer() for value in options.path or values):
        raise UserError(f"--path: {name} takes whole numbers")
    ordered = sorted(options.path or values, reverse=name in FALLING)
    return name, [int(value) for value in ordered] if whole else ordered


def read(
    names: list[str], options: argparse.Namespace, progress: Progress, model: Any = None
) -> tuple[list[Sentence], Any]:
    """All sentences of some files, and what is to be kept of their columns."""
    with (
        Sentences(names, options, model=model) as source,
        progress.stage(f"reading {source.name}", source.bytes) as stage,
    ):
        sentences = [sentence for block in source.blocks(stage) for sentence in block]
        return sentences, source.learnt(sentences[0])


def choose(rows: list[Row], metric: str | None) -> Row:
    """The best row; the first, which has the strongest prior, among equals. Spans decide where there are any."""
    name = metric or ("f1" if "f1" in rows[0] else "accuracy")
    if name not in rows[0]:
        raise UserError("--metric f1: the tags are of no spans")
    return max(rows, key=lambda row: row[name])


class Trials:
    """Fits with a value, judged on the sentences of `--dev`, or each of N parts by a learner of the others.

    Sentences of which some tag is not known are in no part, and are learnt from each time.
    """

    def __init__(self, sentences: list[Sentence], model: Any, options: argparse.Namespace, progress: Progress) -> None:
        self._model, self._options, self._progress = model, options, progress
        self._X, self._y = tokens_of(sentences, model), labels_of(sentences)
        self._best: Any = None
        every = np.arange(len(sentences))
        if options.dev:
            held, _ = read([options.dev], argparse.Namespace(**{**vars(options), "unknown_label": None}), progress)
            self._judged = [(every, tokens_of(held, model), labels_of(held))]
            return
        known = np.array([None not in labels for labels in self._y])
        if known.sum() < options.folds:
            raise UserError(f"--folds {options.folds}: there are only {known.sum():,} sentences with all their tags")
        dealt = np.random.default_rng(options.seed).permutation(np.flatnonzero(known))
        parts = [np.sort(dealt[start :: options.folds]) for start in range(options.folds)]
        self._judged = [(np.setdiff1d(every, part), *self._some(part)) for part in parts]

    def row(self, name: str, value: Any) -> Row:
        """Fit with a value, as often as there are parts; the figures are of all that is judged."""
        everything, each, models, started = SpanTally(), [], [], time.perf_counter()
        for learnt, X, y in self._judged:
            models.append(self._fitted(name, value, learnt))
            part = SpanTally()
            found = [list(map(str, tags)) for tags in models[-1].predict(X)]
            part.add(y, found)
            everything.add(y, found)
            each.append(figures(part))
        self._last = models[-1]
        row = {name: value, "seconds": time.perf_counter() - started, **sizes(models), **figures(everything)}
        if len(each) == 1:
            return row
        metric = self._options.metric or ("f1" if "f1" in row else "accuracy")
        return {**row, "deviation": float(np.std([one.get(metric, 0.0) for one in each], ddof=1))}

    def keep(self) -> None:
        """The last value was the best so far."""
        self._best = self._last

    def learnt(self, name: str, value: Any) -> Any:
        """The tagger of the best value, of all sentences."""
        return self._best if self._options.dev else self._fitted(name, value, np.arange(len(self._y)))

    def _some(self, part: Numbers) -> tuple[list[Any], list[Any]]:
        return [self._X[s] for s in part.tolist()], [self._y[s] for s in part.tolist()]

    def _fitted(self, name: str, value: Any, part: Numbers) -> Any:
        model, (X, y) = clone(self._model).set_params(**{name: value}), self._some(part)
        fit(model, lambda: model.fit(X, y), self._progress)
        return model


def figures(tally: SpanTally) -> Row:
    """What decides, of the sentences so far."""
    report = tally.report()
    return {"accuracy": report.accuracy, **({"f1": report.f1} if report.types else {})}
