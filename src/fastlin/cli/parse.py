"""`fastlin parse`: trees of sentences, in the Penn Treebank's brackets."""

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import fastlin
from fastlin import grammar
from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.cli.learners import build
from fastlin.cli.progress import Progress
from fastlin.cli.train import checkpoints, fit
from fastlin.cli.tree_inputs import RawSentences, TextFiles
from fastlin.grammar import Tree, evalb, read_trees
from fastlin.grammar.evalb_parameters import EvalbParameters
from fastlin.grammar.evalb_report import EvalbSentence
from fastlin.grammar.evaluation import pairs_to_judge, with_root
from fastlin.grammar.rule_mistakes import rule_mistakes
from fastlin.grammar.treebank import check_writable

CLASSES = {"pcfg": "PCFG", "span-crf": "SpanCRF"}
NO_TREE = "(())"  # of a line without words, as parsers say it


def train(options: argparse.Namespace) -> int:
    """Trees in, a model file out."""
    started, progress = time.perf_counter(), Progress(options)
    given = argparse.Namespace(files=[*options.files, *options.raw, *options.brackets], dev=options.dev)
    if not given.files:
        raise UserError("there is nothing to learn from: FILEs of trees, --raw or --brackets")
    if options.symbols is not None and options.files:
        raise UserError("--symbols begins with a random grammar, of sentences alone: there are FILEs of trees")
    model_io.check_target(options.model, given)
    model_io.check_dev(given)
    model = _learner(options)
    told = checkpoints(options, model)
    trees, brackets = (_all_trees(names, progress) for names in (options.files, options.brackets))
    sentences = _all_sentences(options, progress)
    if sentences or brackets:
        if not hasattr(model, "fit_unlabeled"):
            raise UserError(f"--raw and --brackets: {options.learner} learns from trees alone")
        if not trees and model.n_symbols is None:
            raise UserError("there is no grammar to begin with: give FILEs of trees, or --symbols N for a random one")
        unlabeled = {"trees": trees or None, "brackets": brackets or None, **told}
        fit(model, lambda: model.fit_unlabeled(sentences, **unlabeled), progress)
    else:
        fit(model, lambda: model.fit(trees, **told), progress)
    facts: dict[str, Any] = {"model": options.model, "trees": len(trees), "sentences": len(sentences) + len(brackets)}
    facts |= {"symbols": len(model.symbols_), "rules": model.n_rules_, "words": len(model.words_)}
    if options.dev:
        facts["dev_f1"] = evalb(*_parsed(model, [options.dev], progress)).overall.f1
    facts["bytes"] = fastlin.save(model, options.model)["bytes"]
    facts["seconds"] = time.perf_counter() - started
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        print(
            f"{options.model}: {options.learner} of {facts['symbols']:,} symbols, {facts['rules']:,} rules and "
            f"{facts['words']:,} words from {facts['trees']:,} trees"
            f"{f' and {n_raw:,} sentences' if (n_raw := facts['sentences']) else ''}, "
            f"{facts['bytes'] / 1e6:.1f} MB, {facts['seconds']:.1f} s"
        )
        if options.dev:
            print(f"F1 on {options.dev}: {facts['dev_f1']:.4f}")
    return 0


def predict(options: argparse.Namespace) -> int:
    """Sentences in, a tree a line out, in their order and as soon as they are known."""
    if options.nbest is not None and options.nbest < 1:
        raise UserError(f"--nbest takes a number of trees, got {options.nbest}")
    if options.marginals is not None and (options.nbest is not None or options.scores):
        raise UserError("--marginals prints constituents, and --nbest and --scores are of trees")
    model, progress = _load(options), Progress(options)
    parse = _constituents if options.marginals is not None else _nbest if options.nbest is not None else _trees
    n_unparsed, first = 0, ""
    with TextFiles(options.files) as source, progress.stage(f"reading {source.name}", source.bytes) as stage:
        for block in source.sentences(stage, options):
            unparsed, records = _small_enough(parse, model, block, options)
            for place in unparsed:
                if options.unparsed == "error":
                    raise UserError(f"{block.place(place)}: the sentence has no tree")
                n_unparsed, first = n_unparsed + 1, first or block.place(place)
            for words, record in zip(block.words, records, strict=True):
                _write(words, record, options)
            sys.stdout.flush()  # whoever reads the pipe waits for these lines
    if n_unparsed:
        warnings.warn(f"{first}: the sentence has no tree, but a flat one; so {n_unparsed:,} in all", stacklevel=1)
    return 0


def evaluate(options: argparse.Namespace) -> int:
    """How trees, or what a model makes of their words, compare with the right ones."""
    if (options.model is None) == (options.predicted is None):
        raise UserError("say what is judged: --predicted FILE of trees, or -m MODEL for those that it finds")
    if options.predicted == "-" and "-" in options.files:
        raise UserError("--predicted -: standard input holds the right trees")
    if options.min_f1 is not None and math.isnan(options.min_f1):
        raise UserError("--min-f1 takes a number from 0 to 1, got nan: no F1 is below it")
    progress = Progress(options)
    settings = None if options.parameters is None else EvalbParameters.from_file(options.parameters)
    if options.model is not None:
        gold, predicted = _parsed(_load(options), options.files, progress)
    else:
        given = [name for name in ("decoding", "jobs") if getattr(options, name) is not None]
        if given:
            raise UserError(f"--{given[0]} is of a model: the trees of {options.predicted} are there")
        gold, predicted = _parses(options.files), _parses(options.predicted)
    report = evalb(gold, predicted, settings)
    rules = rule_mistakes(zip(gold, predicted, strict=True)) if options.rules > 0 else []
    if options.json:
        found = report.as_dict()
        if not options.sentences:
            del found["sentences"]
        if options.mistakes:
            found["mistakes"] = [_mistake_as_dict(one) for one in report.errors(options.mistakes).mistakes]
        if options.rules > 0:
            found["rules"] = [one.as_dict() for one in rules[: options.rules]]
        print(json.dumps(found, ensure_ascii=False))
    else:
        parts = [_sentence_table(report.sentences)] if options.sentences else []
        parts += [str(report), *([str(report.errors(options.mistakes))] if options.mistakes else [])]
        parts += ["\n".join(map(str, rules[: options.rules]))] if rules else []
        print("\n\n".join(parts))
    if options.min_f1 is not None and report.overall.f1 < options.min_f1:
        print(f"fastlin parse evaluate: the F1 is below {options.min_f1:g}", file=sys.stderr)
        return 1
    return 0


def sample(options: argparse.Namespace) -> int:
    """Trees drawn from a grammar, or their words."""
    model = model_io.load(options.model, verify=not options.no_verify, kinds=("parser",))
    if not hasattr(model, "sample"):
        raise UserError(f"{options.model} holds a {type(model).__name__}, which has no probabilities of sentences")
    for tree in model.sample(options.n, options.seed, options.max_length):
        words = tree.leaves()
        if options.json:
            print(json.dumps({"words": words, "tree": _written(tree)}, ensure_ascii=False))
        else:
            print(" ".join(words) if options.words else _written(tree))
    return 0


# --- models ----------------------------------------------------------------------------------------------------------


def _learner(options: argparse.Namespace) -> Any:
    """The parser that the options say, not yet fitted."""
    names = ("horizontal", "vertical", "split_tags", "alpha", "unknown", "rules", "decoding")
    named = {name: getattr(options, name) for name in names}
    if options.symbols is not None:
        named |= {"n_symbols": options.symbols, "vertical": 1 if options.vertical is None else options.vertical}
    named["max_iter"] = options.epochs
    model = build(options, getattr(grammar, CLASSES[options.learner]), {}, named)
    if options.horizontal == "all":
        model.set_params(horizontal=None)
    if options.unknown == "none":
        model.set_params(unknown=None)
    return model


def _load(options: argparse.Namespace) -> Any:
    """The parser of a command, which parses as its options say."""
    model = model_io.load(options.model, options.jobs, not options.no_verify, kinds=("parser",))
    decoding = {} if options.decoding is None else {"decoding": options.decoding}
    return model.set_params(unparsed="flat", **decoding)


def _all_trees(names: list[str], progress: Progress) -> list[Tree]:
    """The trees of files, if there are any."""
    if not names:
        return []
    with TextFiles(names) as source, progress.stage(f"reading {source.name}", source.bytes) as stage:
        return list(source.trees(stage))


def _all_sentences(options: argparse.Namespace, progress: Progress) -> list[list[str]]:
    """The sentences of --raw; lines without words are none."""
    if not options.raw:
        return []
    with TextFiles(options.raw) as source, progress.stage(f"reading {source.name}", source.bytes) as stage:
        found = [words for block in source.sentences(stage, options) for words in block.words if words]
    if not found:
        raise UserError(f"{source.name}: there are no sentences")
    return found


# --- trees -----------------------------------------------------------------------------------------------------------

Parse = Callable[[Any, list[list[str]], argparse.Namespace], tuple[list[int], list[Any]]]


def _small_enough(
    parse: Parse, model: Any, block: RawSentences, options: argparse.Namespace
) -> tuple[list[int], list[Any]]:
    """What is parsed of some sentences; one whose chart would be too large is named."""
    try:
        return parse(model, block.words, options)
    except MemoryError:
        for place, words in enumerate(block.words):
            try:
                parse(model, [words], options)
            except MemoryError as error:
                raise UserError(f"{block.place(place)}: {error}") from None
        raise


def _trees(model: Any, sentences: list[list[str]], options: argparse.Namespace) -> tuple[list[int], list[Any]]:  # noqa: ARG001
    """Which sentences have no tree of the grammar, and (tree, ln p) of each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* have no tree", UserWarning)  # told when all are parsed
        found = model.predict(sentences)
    unparsed = [place for place in found.unparsed if sentences[place]]
    return unparsed, list(zip(found, found.log_joint.tolist(), strict=True))


def _nbest(model: Any, sentences: list[list[str]], options: argparse.Namespace) -> tuple[list[int], list[Any]]:
    """The same with a list of (tree, ln p) for each sentence; the only tree of one without any is flat."""
    found = [
        list(zip(parses, parses.log_joint.tolist(), strict=True))
        for parses in model.predict_nbest(sentences, options.nbest)
    ]
    without = [place for place, parses in enumerate(found) if not parses]
    unparsed, flat = _trees(model, [sentences[place] for place in without], options)
    for place, parse in zip(without, flat, strict=True):
        found[place] = [parse]
    return [without[place] for place in unparsed], found


def _constituents(model: Any, sentences: list[list[str]], options: argparse.Namespace) -> tuple[list[int], list[Any]]:
    """The constituents that are expected of each sentence."""
    return [], model.predict_marginals(sentences, options.marginals)


def _write(words: list[str], record: Any, options: argparse.Namespace) -> None:
    """Print what was found of a sentence."""
    if options.marginals is not None:
        found = [one._asdict() for one in record]
        lines = [f"{one['start']}\t{one['stop']}\t{one['label']}\t{one['expected']:.6g}" for one in found]
        content: dict[str, Any] = {"constituents": found}
    elif options.nbest is not None:
        content = {"trees": [_as_dict(*one) for one in record]}
        lines = [_as_line(*one, with_score=True) for one in record]
    else:
        content, lines = _as_dict(*record), [_as_line(*record, with_score=options.scores)]
    if options.json:
        print(json.dumps({"words": words, **content}, ensure_ascii=False))
    else:
        several = options.marginals is not None or options.nbest is not None
        sys.stdout.write("".join(f"{line}\n" for line in [*lines, *([""] if several else [])]))


def _as_line(tree: Tree | None, log_joint: float, *, with_score: bool) -> str:
    text = NO_TREE if tree is None else _written(tree)
    return f"{log_joint:.10g}\t{text}" if with_score else text


def _as_dict(tree: Tree | None, log_joint: float) -> dict[str, Any]:
    """What JSON can hold, which has no −∞."""
    return {
        "tree": None if tree is None else _written(tree), "log_joint": log_joint if math.isfinite(log_joint) else None,
    }  # fmt: skip


def _written(tree: Tree) -> str:
    check_writable(tree, 0)
    return str(tree)


# --- figures ---------------------------------------------------------------------------------------------------------


def _parsed(model: Any, files: list[str], progress: Progress) -> tuple[list[Tree | None], list[Tree | None]]:
    """Trees as a model knows them, and what it makes of their words."""
    with TextFiles(files) as source, progress.stage(f"evaluating on {source.name}", source.bytes) as stage:
        return pairs_to_judge(model, source.trees(stage))


def _parses(files: Any) -> list[Tree | None]:
    """Trees and failed parses of files."""
    return [with_root(tree) for tree in read_trees(files, with_failures=True)]


def _sentence_table(sentences: tuple[EvalbSentence, ...]) -> str:
    """The figures of each sentence."""
    head = ("sentence", "length", "status", "recall", "precision", "matched", "gold", "predicted", "crossing", "tags")
    rows = [
        (
            f"{one.number:,}", f"{one.length:,}", one.status, f"{100 * one.recall:.2f}", f"{100 * one.precision:.2f}",
            f"{one.n_matched:,}", f"{one.n_gold:,}", f"{one.n_predicted:,}", f"{one.n_crossing:,}",
            f"{100 * one.tag_accuracy:.2f}",
        )
        for one in sentences
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)
    )


def _mistake_as_dict(mistake: Any) -> dict[str, Any]:
    """A mistake and its places in plain types."""
    places = [
        {"sentence": one.sentence, "start": one.first, "stop": one.end, "words": one.words} for one in mistake.places
    ]
    return {"kind": mistake.kind, "gold": mistake.gold, "predicted": mistake.predicted, "places": places}
