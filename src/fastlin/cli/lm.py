"""`fastlin lm`: language models of sentences, one a line."""

import argparse
import json
import os
import sys
import time
from typing import Any

import fastlin
from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.cli.learners import build
from fastlin.cli.progress import Progress
from fastlin.cli.train import fit
from fastlin.data import read
from fastlin.lm import (
    Cache,
    ClassBigramModel,
    Interpolation,
    LanguageModel,
    LanguageModelClassifier,
    MaxentLM,
    NgramModel,
)
from fastlin.lm.vocabulary import BEGIN_NAME, END_NAME

ARPA = (".arpa", ".arpa.gz", ".arpa.bz2", ".arpa.xz", ".arpa.zst", ".lm", ".lm.gz")
UNSAID = ("unit", "direction", "markup")  # by a file in ARPA's format
OWN = {  # the options that not all learners have
    "ngram": ("order", "smoothing", "cutoff", "alpha", "direction"),
    "maxent": ("order", "cutoff", "direction", "prior_variance", "classes"),
    "class-bigram": ("classes", "alpha", "direction"),
}
LEARNERS: dict[str, Any] = {"ngram": NgramModel, "maxent": MaxentLM, "class-bigram": ClassBigramModel}


def train(options: argparse.Namespace) -> int:
    """Sentences in, a model file or an ARPA file out."""
    started, progress = time.perf_counter(), Progress(options)
    model_io.check_target(options.model, options)
    model_io.check_dev(options)
    _check_format(options.model, options.quantise)
    model = _learner(options)
    if options.model.endswith(ARPA) and _has_more_than_n_grams(model):
        raise UserError(
            "ARPA's format holds models of n-grams: those of --learner ngram, "
            "or maxent without --classes and skip_grams"
        )
    given: dict[str, Any] = {}
    if options.memory is not None:
        if options.learner != "ngram":
            raise UserError("--memory is of --learner ngram: the others count in memory")
        given["memory"] = options.memory
    if options.tune:
        if options.learner != "maxent" or not options.dev:
            raise UserError("--tune chooses the prior of --learner maxent by --dev FILE")
        given["X_val"] = options.dev
    fit(model, lambda: model.fit(_sentences(options.files), **given), progress)
    facts = {"model": options.model, "words": len(model.words_)}
    if hasattr(model, "n_grams_"):
        facts["n_grams"] = model.n_grams_
    if options.dev:
        facts["dev_perplexity"] = model.perplexity(options.dev)
    facts |= _write(model, options.model, options.quantise)
    facts["seconds"] = time.perf_counter() - started
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        grams = f", {sum(facts['n_grams']):,} n-grams" if "n_grams" in facts else ""
        size = f"{facts['bytes'] / 1e6:.1f} MB, {facts['seconds']:.1f} s"
        print(f"{options.model}: {options.learner} of {facts['words']:,} words{grams}, {size}")
        if options.dev:
            print(f"perplexity on {options.dev}: {facts['dev_perplexity']:.2f}")
    return 0


def _has_more_than_n_grams(model: Any) -> bool:
    """Whether a learner's parameters make it a model that is no back-off model."""
    if isinstance(model, MaxentLM):
        return model.classes is not None or model.skip_grams != 0
    return isinstance(model, ClassBigramModel)


def score(options: argparse.Namespace) -> int:
    """ln p of each sentence or, with --words, the bits of each word."""
    model = _load(options)
    if options.words:
        names = _words_of(model)
        for sentence in _lines(options.files):
            bits, _ = model.surprisal([sentence])
            words = [*names(sentence), "</s>"]
            if options.json:
                print(json.dumps({"words": words, "bits": bits.tolist()}, ensure_ascii=False))
            else:
                print(" ".join(f"{word}={value:.4g}" for word, value in zip(words, bits.tolist(), strict=True)))
        return 0
    for value in model.score_samples(_sentences(options.files)).tolist():
        print(json.dumps({"log_proba": value}) if options.json else f"{value:.10g}")
    return 0


def perplexity(options: argparse.Namespace) -> int:
    """How a text surprises a model, or several together."""
    model = _load(options)
    others = [load(path, options) for path in options.mix]
    parts = [*others, *([] if options.cache is None else [Cache(options.cache)])]
    if options.weights_on and not parts:
        raise UserError("--weights-on fits the weights of a mixture: --mix FILE or --cache N")
    if parts:
        model = Interpolation([model, *parts])
        if options.weights_on:
            model.fit_weights(options.weights_on)
    sentences = _sentences(options.files)
    if "-" in options.files:
        sentences = list(_lines(options.files))
    kept = {"end": not options.no_end, "oov": not options.no_oov}
    facts = {
        "perplexity": model.perplexity(sentences, **kept),
        "bits_per_word": model.entropy(sentences, **kept),
        "bits_per_character": model.entropy(sentences, "character", **kept),
    }
    if parts:
        weights = getattr(model, "weights_", None)
        facts["weights"] = [1 / (1 + len(parts))] * (1 + len(parts)) if weights is None else weights.tolist()
    if options.json:
        print(json.dumps(facts))
    else:
        for name, value in facts.items():
            text = " ".join(f"{each:.4f}" for each in value) if isinstance(value, list) else f"{value:.4f}"
            print(f"{name.replace('_', ' ')}: {text}")
    if options.max_perplexity is not None and facts["perplexity"] > options.max_perplexity:
        print(f"fastlin lm perplexity: it is above {options.max_perplexity:g}", file=sys.stderr)
        return 1
    return 0


def generate(options: argparse.Namespace) -> int:
    """Sentences drawn from a model."""
    model = _load(options)
    drawn = model.sample(
        options.n,
        context=options.prompt or "",
        random_state=options.seed,
        temperature=options.temperature,
        max_length=options.max_length,
    )
    between = "" if model._reader().unit == "character" else " "
    for sentence in drawn:
        print(json.dumps(sentence, ensure_ascii=False) if options.json else between.join(sentence))
    return 0


def next(options: argparse.Namespace) -> int:  # noqa: A001 - the command's name
    """The most probable words after each context."""
    model = _load(options)
    contexts = [options.context] if options.context is not None else _lines(["-"])
    for context in contexts:
        found = model.top(context, options.top)
        if options.json:
            print(json.dumps([{"word": word, "p": p} for word, p in found], ensure_ascii=False), flush=True)
        else:
            print("  ".join(f"{word} {p:.4f}" for word, p in found), flush=True)
    return 0


def convert(options: argparse.Namespace) -> int:
    """From ARPA to a model file, or from a model file to ARPA."""
    options.files, options.dev = [options.model], None
    model_io.check_target(options.output, options)
    _check_format(options.output, options.quantise)
    facts = {"output": options.output, **_write(_load(options), options.output, options.quantise)}
    _say(facts, options)
    return 0


def prune(options: argparse.Namespace) -> int:
    """Leave out the n-grams that matter least."""
    options.files, options.dev = [options.model], None
    model_io.check_target(options.output, options)
    _check_format(options.output, options.quantise)
    model = _load(options)
    if not isinstance(model, NgramModel):
        raise UserError(f"{options.model} holds a {type(model).__name__}; an NgramModel can be pruned")
    before = model.n_grams_
    min_count = None if options.min_count is None else [int(count) for count in options.min_count]
    model.prune(options.threshold, min_count=min_count)
    facts = {"output": options.output, "before": before, "n_grams": model.n_grams_}
    facts |= _write(model, options.output, options.quantise)
    _say(facts, options)
    return 0


# --- models ----------------------------------------------------------------------------------------------------------


def _learner(options: argparse.Namespace) -> Any:
    """The model that the options say, not yet fitted."""
    given = {
        "order": options.order, "smoothing": options.smoothing, "cutoff": options.cutoff, "alpha": options.alpha,
        "direction": options.direction, "prior_variance": options.prior_variance, "classes": options.classes,
    }  # fmt: skip
    parameters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name in parameters:
        if name not in OWN[options.learner]:
            raise UserError(f"--{name.replace('_', '-')} is not of --learner {options.learner}")
    if options.learner == "class-bigram" and "classes" in parameters:
        parameters["n_classes"] = parameters.pop("classes")
    parameters |= {"min_count": options.min_count, "unit": options.unit, "markup": options.markup}
    parameters["vocabulary"] = _vocabulary(options.vocabulary)
    model = build(options, LEARNERS[options.learner], {}, parameters)
    return model.set_params(unk=None) if options.closed else model


def _vocabulary(path: str | None) -> list[str] | None:
    """The words of a file, one a line."""
    if path is None:
        return None
    return [word for text in _lines([path]) for word in text.split()]


def load(path: str, options: argparse.Namespace) -> Any:
    """A language model, from a model file or from ARPA's format, which does not say all of it."""
    if path.endswith(ARPA):
        given = {name: getattr(options, name) for name in UNSAID}
        return NgramModel.from_arpa(path, **{name: value for name, value in given.items() if value is not None})
    model = fastlin.load(path, verify=not getattr(options, "no_verify", False))
    if not isinstance(model, LanguageModel):
        hint = "; fastlin predict labels texts with it" if isinstance(model, LanguageModelClassifier) else ""
        raise UserError(f"{path} holds a {type(model).__name__}, no language model{hint}")
    return model


def _load(options: argparse.Namespace) -> Any:
    """The model of a command; options that are of ARPA's format are none of a model file."""
    paths = [options.model, *getattr(options, "mix", [])]
    given = [name for name in UNSAID if getattr(options, name) is not None]
    if given and not any(path.endswith(ARPA) for path in paths):
        raise UserError(f"--{given[0]} is of a model in ARPA's format; a model file says it")
    return load(options.model, options)


def _check_format(path: str, quantise: str | None) -> None:
    """UserError: numbers cannot be quantised in such a file."""
    if path.endswith(ARPA) and quantise is not None:
        raise UserError("--quantise is for model files: ARPA has digits")


def _write(model: Any, path: str, quantise: str | None) -> dict[str, Any]:
    """Save a model; as ARPA, if the path says so."""
    if path.endswith(ARPA):
        try:
            model.to_arpa(path)
        except AttributeError:
            which = " if it has classes or skip-grams" if isinstance(model, MaxentLM) else ""
            name = type(model).__name__
            raise UserError(f"ARPA's format holds models of n-grams, and a {name} is none{which}") from None
        return {"bytes": os.path.getsize(path)}
    return {"bytes": fastlin.save(model, path, dtype=quantise)["bytes"]}


def _say(facts: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        grams = f", {sum(facts['before']):,} n-grams became {sum(facts['n_grams']):,}" if "before" in facts else ""
        print(f"{facts['output']}: {facts['bytes'] / 1e6:.1f} MB{grams}")


# --- sentences -------------------------------------------------------------------------------------------------------


def _sentences(files: list[str]) -> Any:
    """What a language model reads: a file where it lies, several one after the other."""
    if files == ["-"]:
        return sys.stdin.buffer
    return files[0] if len(files) == 1 else read(files, "lines")


def _lines(files: list[str]) -> Any:
    """Sentences one by one, as they come."""
    for name in files:
        if name == "-":
            yield from (line.rstrip("\r\n") for line in sys.stdin)
        else:
            for block in read(name, "lines"):
                yield from block.texts


def _words_of(model: Any) -> Any:
    """What makes the words of a sentence that a model gives probabilities."""
    reader = model._reader()
    left_out = {BEGIN_NAME, END_NAME} if reader.keep_marks else set()
    return lambda sentence: [word for word in reader.words(sentence) if word not in left_out]
