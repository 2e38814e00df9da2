"""`fastlin inspect`: what a model holds, and why a document got its label."""

import argparse
import json
import sys
from typing import Any

import fastlin
from fastlin.cli import models
from fastlin.cli.messages import UserError
from fastlin.inspect import explain, summary, top_features


def run(options: argparse.Namespace) -> int:
    if options.verify:
        return verify(options.model)
    model = models.load(options.model, clusters=True)
    if options.text is not None:
        if not hasattr(model, "steps"):
            raise UserError("--text explains texts, and this model takes rows of numbers: it has no vectoriser")
        text = sys.stdin.read() if options.text == "-" else options.text
        found = [explain(model, text, label) for label in _labels(options, summary(model).clusters) or [None]]
        print(json.dumps([one.as_dict() for one in found]) if options.json else "\n\n".join(map(str, found)))
        return 0
    facts = summary(model)
    strongest = top_features(model, options.top, _labels(options, facts.clusters))
    if options.json:
        plain = [{"label": one.label, "features": dict(zip(one.names, one.weights, strict=True))} for one in strongest]
        print(json.dumps({**facts.as_dict(), "strongest": plain}))
    else:
        print("\n\n".join(map(str, [facts, *strongest])))
    return 0


def _labels(options: argparse.Namespace, clusters: bool) -> list[Any] | None:
    """Those asked for; clusters are numbers."""
    return [int(label) if clusters and label.isdecimal() else label for label in options.label or ()] or None


def verify(path: str) -> int:
    """Prove every byte of a file: digests, shapes, bounds."""
    try:
        fastlin.load(path)
    except fastlin.ModelFileError as error:
        print(f"fastlin inspect: {error}", file=sys.stderr)
        return 1
    print(f"{path} is whole")
    return 0
