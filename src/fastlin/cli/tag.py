"""`fastlin tag`: taggers of sentences in columns, a token a line."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import fastlin
from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.cli.progress import Progress
from fastlin.cli.sentence_inputs import Sentences, TextLines, TextSentence, labels_of, tokens_of, weights_of
from fastlin.sequence.conll_lines import Sentence

MISSING = "_"  # where there are fewer paths than were asked for


def train(options: argparse.Namespace) -> int:
    """Labelled sentences in, a model file out."""
    from fastlin.cli import taggers  # what learns and what judges is imported by who does it
    from fastlin.cli.train import checkpoints, fit

    started, progress = time.perf_counter(), Progress(options)
    model_io.check_target(options.model, options)
    model_io.check_dev(options)
    model = taggers.tagger(options)
    told = checkpoints(options, model)
    with Sentences(options.files, options) as source, progress.stage(f"reading {source.name}", source.bytes) as stage:
        sentences = [sentence for block in source.blocks(stage) for sentence in block]
    model.set_params(features=taggers.features(options, len(sentences[0][0])))
    X, y = tokens_of(sentences, model), labels_of(sentences)
    if options.weight_comment is not None:
        told["sample_weight"] = weights_of(sentences, options.weight_comment)
    fit(model, lambda: model.fit(X, y, **told), progress)
    model.file_columns_ = source.learnt(sentences[0])
    facts = _save(model, options, progress)
    facts |= {"sentences": len(y), "tokens": sum(map(len, y)), "labels": len(model.classes_)}
    facts |= {"features": model.n_features_in_, "seconds": time.perf_counter() - started}
    _tell(facts, options)
    return 0


def tune(options: argparse.Namespace) -> int:
    """Labelled sentences in, a table of values of a parameter out, and the best tagger."""
    from fastlin.cli import tag_tuning

    return tag_tuning.run(options)


def predict(options: argparse.Namespace) -> int:
    """Sentences in; the same with a tag behind every token out."""
    if options.nbest < 1:
        raise UserError(f"--nbest takes a number of paths, got {options.nbest}")
    if options.nbest > 1 and options.proba:
        raise UserError("--proba is of the tags of one path; --nbest prints the probabilities of paths")
    model = model_io.load(options.model, options.jobs, not options.no_verify, kinds=("tagger",))
    write = _as_json if options.json else _as_text
    progress = Progress(options)
    with (
        _sentences_to_tag(options, model) as source,
        progress.stage(f"reading {source.name}", source.bytes) as stage,
    ):
        for block in source.blocks(stage):
            found = _tagged(model, block, options)
            sys.stdout.write(
                "".join(write(sentence, *one, options) for sentence, one in zip(block, found, strict=True))
            )
            sys.stdout.flush()  # whoever reads the pipe waits for these lines
        if not options.json:
            sys.stdout.write(source.rest)
    return 0


def _sentences_to_tag(options: argparse.Namespace, model: Any) -> Any:
    """The input, whose blocks are lists of sentences in columns or of text."""
    if options.format != "lines":
        if options.tokens is not None:
            raise UserError("--tokens says how lines of text are split: it needs --format lines")
        return Sentences(options.files, options, labelled=False, model=model)
    for name in ("columns", "label", "separator", "comments"):
        if getattr(options, name) is not None:
            raise UserError(f"--{name} is of sentences in columns, and --format lines has none")
    return TextLines(options.files, options)


def evaluate(options: argparse.Namespace) -> int:
    """How a tagger does on labelled sentences, or which of several does better."""
    from fastlin.cli import tag_judges

    paths, files = model_io.named_models(options)
    models = [model_io.load(path, options.jobs, kinds=("tagger",)) for path in paths]
    kept: tag_judges.KeptTags = ([], [[] for _ in models])
    several = len(models) > 1
    judged = tag_judges.judge(models, files, options, Progress(options), options.mistakes, kept if several else None)
    compared = tag_judges.compared(judged, kept) if several else []
    if options.json:
        plain = [{"model": path, **one.as_dict()} for path, one in zip(paths, judged, strict=True)]
        comparisons = [one.as_dict() for one in compared]
        print(json.dumps({"models": plain, "comparisons": comparisons} if several else judged[0].as_dict()))
    else:
        parts = [f"{path}\n{one}" if several else str(one) for path, one in zip(paths, judged, strict=True)]
        parts += [f"{paths[0]} and {path}\n{one}" for path, one in zip(paths[1:], compared, strict=True)]
        print("\n\n".join(parts))
    for name, found, least in (
        ("accuracy", judged[-1].spans.accuracy, options.min_accuracy),
        ("F1 of spans", judged[-1].spans.f1, options.min_f1),
    ):
        if least is not None and found < least:
            print(f"fastlin tag evaluate: the {name} is below {least:g}", file=sys.stderr)
            return 1
    return 0


# --- tags, and what stands beside them


def _tagged(
    model: Any, block: Sequence[Sentence | TextSentence], options: argparse.Namespace
) -> Iterator[tuple[list[list[Any]], Any]]:
    """Of each sentence the tags of its best paths, and what is known of them: of tokens or of paths, or None."""
    X = tokens_of(block, model)
    if options.nbest > 1:
        for paths in model.predict_nbest(X, options.nbest):
            yield [tags for tags, _ in paths], [value for _, value in paths]
        return
    tags = model.predict(X)
    if not options.proba:
        yield from (([one], None) for one in tags)
        return
    places = {label: place for place, label in enumerate(model.classes_.tolist())}
    for one, p in zip(tags, model.predict_marginals(X), strict=True):
        yield [one], [float(row[places[tag]]) for row, tag in zip(p, one, strict=True)]


def _as_text(
    sentence: Sentence | TextSentence, paths: list[list[Any]], figures: Any, options: argparse.Namespace
) -> str:
    columns = [list(map(str, tags)) for tags in paths]
    if options.nbest == 1:
        columns += [] if figures is None else [[f"{value:.6g}" for value in figures]]
        return sentence.tagged(*columns, inside=options.label is not None)
    columns += [[MISSING] * len(sentence)] * (options.nbest - len(columns))
    head = " ".join(f"{value:.6g}" for value in figures)
    return sentence.tagged(*columns, inside=options.label is not None, comment=f"# log_proba = {head}")


def _as_json(
    sentence: Sentence | TextSentence, paths: list[list[Any]], figures: Any, options: argparse.Namespace
) -> str:
    record: dict[str, Any] = {"words": [token[0] for token in sentence], "tags": paths[0]}
    if isinstance(sentence, TextSentence):
        spans = {"starts": [word.start for word in sentence.words], "stops": [word.stop for word in sentence.words]}
        record = {"text": sentence.text, **record, **spans}
    if options.nbest > 1:
        record["paths"] = [{"tags": tags, "log_proba": value} for tags, value in zip(paths, figures, strict=True)]
    elif figures is not None:
        record["probabilities"] = figures
    return f"{json.dumps(record, ensure_ascii=False)}\n"


# --- figures


def _save(model: Any, options: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """Save a tagger and say what the file holds; with --dev, how it does, before and after quantisation."""
    facts: dict[str, Any] = {}
    if options.dev:
        facts |= _on_dev(model, options, progress)
    facts = {"model": options.model, **facts}
    facts |= fastlin.save(model, options.model, dtype=options.quantise, prune=options.prune)
    if options.dev and (options.quantise is not None or options.prune):
        saved = _on_dev(model_io.load(options.model, kinds=("tagger",)), options, progress)
        facts |= {f"{name}_saved": value for name, value in saved.items()}
    return facts


def _on_dev(model: Any, options: argparse.Namespace, progress: Progress) -> dict[str, float]:
    from fastlin.cli import tag_judges

    found = tag_judges.judge([model], [options.dev], options, progress)[0].spans
    return {"dev_accuracy": found.accuracy, **({"dev_f1": found.f1} if found.types else {})}


def _tell(facts: dict[str, Any], options: argparse.Namespace) -> None:
    """The summary of a training."""
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        print(
            f"{options.model}: {options.learner} of {facts['labels']:,} labels and {facts['features']:,} features from "
            f"{facts['sentences']:,} sentences of {facts['tokens']:,} tokens, {facts['bytes'] / 1e6:.1f} MB, "
            f"{facts['seconds']:.1f} s"
        )
        for saved in ("", "_saved"):
            if f"dev_accuracy{saved}" in facts:
                f1 = f", F1 of spans {facts[f'dev_f1{saved}']:.4f}" if f"dev_f1{saved}" in facts else ""
                where = "as saved" if saved else f"on {options.dev}"
                print(f"{where}: accuracy {facts[f'dev_accuracy{saved}']:.4f}{f1}")
