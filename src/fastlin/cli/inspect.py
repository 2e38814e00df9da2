"""`fastlin inspect`: what a model holds, why a document got its label, which words of a sentence surprise."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

import fastlin
from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.cli.labels import all_shown, known, shown
from fastlin.cli.lm import ARPA
from fastlin.core.model_kinds import is_about_language, is_parser
from fastlin.inspection import (
    explain,
    explain_text,
    explain_token,
    grammar,
    language,
    regressor,
    summary,
    surprisal,
    top_features,
    transitions,
)
from fastlin.lm import NgramModel


def run(options: argparse.Namespace) -> int:
    if options.verify:
        return verify(options.model)
    if options.token is not None and options.text is None:
        raise UserError("--token needs --text: the sentence whose token it is")
    if options.model.endswith(ARPA):
        return _language(NgramModel.from_arpa(options.model), options)
    model = model_io.load(
        options.model, kinds=("classifier", "clustering", "tagger", "parser", "language", "regressor")
    )
    if is_parser(model):
        return _grammar(model, options)
    if is_about_language(model):
        return _language(model, options)
    if model_io.kind_of(model) == "regressor":
        return _regressor(model, options)
    if options.text is not None:
        if model_io.kind_of(model) == "tagger":
            return _token(model, options)
        if options.token is not None:
            raise UserError("--token is of models that label the tokens of sentences")
        if not hasattr(model, "steps"):
            raise UserError("--text explains texts, and this model takes rows of numbers: it has no vectoriser")
        text = sys.stdin.read() if options.text == "-" else options.text
        found = [explain(model, text, label) for label in _labels(options, summary(model).labels) or [None]]
        print(json.dumps([one.as_dict() for one in found]) if options.json else "\n\n".join(map(str, found)))
        return 0
    facts = summary(model)
    labels = _labels(options, facts.labels)
    facts = dataclasses.replace(facts, labels=tuple(all_shown(facts.labels)))
    strongest = [dataclasses.replace(one, label=shown(one.label)) for one in top_features(model, options.top, labels)]
    follows = transitions(model) if model_io.kind_of(model) == "tagger" else None
    if options.json:
        plain = [{"label": one.label, "features": dict(zip(one.names, one.weights, strict=True))} for one in strongest]
        more = {} if follows is None else {"transitions": follows.as_dict()}
        print(json.dumps({**facts.as_dict(), **more, "strongest": plain}))
    else:
        listed = [] if follows is None else [follows.shown(options.top, labels)]
        print("\n\n".join(map(str, [facts, *listed, *strongest])))
    return 0


def _regressor(model: Any, options: argparse.Namespace) -> int:
    """A regressor: its parts and its strongest weights."""
    for name, given in (("--text", options.text), ("--label", options.label), ("--token", options.token)):
        if given is not None:
            raise UserError(f"{name} is of models of labels, and this one predicts numbers")
    found = regressor(model, options.top)
    print(json.dumps(found.as_dict()) if options.json else found)
    return 0


def _token(model: Any, options: argparse.Namespace) -> int:
    """Why tokens of a sentence, whose words stand between blanks, get their tags."""
    words = (sys.stdin.read() if options.text == "-" else options.text).split()
    tokens = words if model.features is None else [(word,) for word in words]
    places = range(len(words)) if options.token is None else [options.token]
    labels = _labels(options, model.classes_.tolist()) or [None]
    found = [(place, explain_token(model, tokens, place, label)) for place in places for label in labels]
    if options.json:
        print(json.dumps([{"token": place, "word": words[place], **one.as_dict()} for place, one in found]))
    else:
        print("\n\n".join(f"{words[place]}: {one}" for place, one in found))
    return 0


def _grammar(model: Any, options: argparse.Namespace) -> int:
    """A grammar: its symbols and rules."""
    if options.text is not None:
        raise UserError("--text explains the label of a document, and this model makes trees: fastlin parse predict")
    found = grammar(model, options.top, options.label)
    print(json.dumps(found.as_dict(), ensure_ascii=False) if options.json else found)
    return 0


def _language(model: Any, options: argparse.Namespace) -> int:
    """A language model: what it holds, or what it finds surprising in a sentence."""
    labels = [shown(label) for label in getattr(model, "classes_", ())]
    if options.text is None:
        found: list[Any] = [language(model, options.top)]
    else:
        text = (sys.stdin.read() if options.text == "-" else options.text).rstrip("\r\n")
        if labels:
            found = [explain_text(model, text, label) for label in _labels(options, model.classes_.tolist()) or [None]]
        elif hasattr(model, "surprisal"):
            found = [surprisal(model, text)]
        else:
            raise UserError("--text measures the words of a sentence, and this model only puts words into classes")
    if options.json:
        plain = [one.as_dict() for one in found]
        print(json.dumps(plain if labels and options.text is not None else plain[0], ensure_ascii=False))
    else:
        print("\n\n".join(map(str, found)))
    return 0


def _labels(options: argparse.Namespace, labels: Sequence[Any]) -> list[Any] | None:
    """Those asked for; numbers in any spelling."""
    return [known(label, labels) for label in options.label or ()] or None


def verify(path: str) -> int:
    """Prove every byte of a file: digests, shapes, bounds."""
    try:
        fastlin.load(path)
    except fastlin.ModelFileError as error:
        print(f"fastlin inspect: {error}", file=sys.stderr)
        return 1
    print(f"{path} is whole")
    return 0
