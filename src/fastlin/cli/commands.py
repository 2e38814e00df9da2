"""The commands, and what each takes."""

import argparse
from collections.abc import Callable, Sequence

from fastlin.cli import lm_options, options, parse_options, spell_options, tag_options
from fastlin.cli.arguments import CommandParser

TAGGER_TABLE = "\n".join(["learners:", *(f"  {name:<12}{text}" for name, text in tag_options.TAGGERS.items())])
PARSER_TABLE = "\n".join(["learners:", *(f"  {name:<12}{text}" for name, text in parse_options.PARSERS.items())])
LANGUAGE_TABLE = "\n".join(["learners:", *(f"  {name:<14}{text}" for name, text in lm_options.LANGUAGE_MODELS.items())])
TABLE = "\n".join(["learners:", *(f"  {name:<15}{text}" for name, text in options.LEARNERS.items())])
COMMANDS: dict[str, tuple[Callable[[CommandParser], None], tuple[str, ...]]] = {
    "train": (
        options.train,
        (
            "FILE... -m MODEL [options]",
            "Learn a model from labelled documents, a label, a tab and a text a line.",
            TABLE,
        ),
    ),
    "predict": (
        options.predict,
        ("[FILE...] -m MODEL [options]", "Print the label of every document on a line, as soon as it is known."),
    ),
    "evaluate": (
        options.evaluate,
        (
            "MODEL... FILE... [options]",
            "Accuracy, precision and recall by label, confusions, calibration; of several models, which one is better.",
        ),
    ),
    "report": (
        options.report,
        ("MODEL... FILE... -o PAGE [options]", "Write one HTML file: figures, features, and mistakes word by word."),
    ),
    "inspect": (options.inspect, ("MODEL [options]", "Print what a model holds; nothing in the file is run.")),
    "convert": (
        options.convert,
        ("FILE... -o PATH [options]", "Turn files of any kind into shards, read without parsing, or into other files."),
    ),
    "import": (
        options.import_model,
        ("FILE -o MODEL [options]", "Make a model file of another program's model, with the same weights."),
    ),
    "export": (
        options.export_model,
        ("MODEL -o FILE [options]", "Write a model for other programs: tensors, or objects of scikit-learn."),
    ),
    "tune": (
        options.tune,
        (
            "FILE... (--dev FILE | --folds N) [options]",
            "Try values of C or alpha; keep the one that does best on other documents.",
            TABLE,
        ),
    ),
    "tag train": (
        tag_options.train,
        (
            "FILE... -m MODEL [options]",
            "Learn to tag from sentences in columns: a token a line, an empty line behind each sentence.",
            TAGGER_TABLE,
        ),
    ),
    "tag tune": (
        tag_options.tune,
        (
            "FILE... (--dev FILE | --folds N) [options]",
            "Try values of a parameter of a tagger; keep the one that does best on other sentences.",
            TAGGER_TABLE,
        ),
    ),
    "tag predict": (
        tag_options.predict,
        ("[FILE...] -m MODEL [options]", "Print sentences with a tag behind every token, as soon as they are known."),
    ),
    "tag evaluate": (
        tag_options.evaluate,
        (
            "MODEL... FILE... [options]",
            "Precision, recall and F1 of spans as conlleval prints them, or those of tags; which of several is better.",
        ),
    ),
    "parse train": (
        parse_options.train,
        (
            "[FILE...] -m MODEL [options]",
            "Learn to parse from trees in the Penn Treebank's brackets, from sentences, or both.",
            PARSER_TABLE,
        ),
    ),
    "parse predict": (
        parse_options.predict,
        ("[FILE...] -m MODEL [options]", "Print a tree for every sentence, one a line, as soon as it is known."),
    ),
    "parse evaluate": (
        parse_options.evaluate,
        ("GOLD... (-m MODEL | --predicted FILE) [options]", "EVALB's figures of trees, and their mistakes."),
    ),
    "parse sample": (parse_options.sample, ("-m MODEL [options]", "Draw trees from a grammar, one a line.")),
    "lm train": (
        lm_options.train,
        (
            "FILE... -m MODEL [options]",
            "Learn a language model from sentences, one a line, words between blanks.",
            LANGUAGE_TABLE,
        ),
    ),
    "lm score": (
        lm_options.score,
        ("[FILE...] -m MODEL [options]", "Print ln p of every sentence, its end included."),
    ),
    "lm perplexity": (
        lm_options.perplexity,
        ("FILE... -m MODEL [options]", "How a text surprises a model, or several."),
    ),
    "lm generate": (lm_options.generate, ("-m MODEL [options]", "Draw sentences, word by word.")),
    "lm next": (lm_options.next_word, ("[CONTEXT] -m MODEL [options]", "Print the most probable next words.")),
    "lm convert": (lm_options.convert, ("MODEL -o FILE [options]", "From ARPA's format to a model file, or back.")),
    "lm prune": (lm_options.prune, ("MODEL -o FILE [options]", "Leave out the n-grams that matter least.")),
    "spell train": (
        spell_options.train,
        ("[FILE...] -m MODEL [options]", "Learn to correct spelling from text, from words alone, or a language model."),
    ),
    "spell correct": (
        spell_options.correct,
        ("[FILE...] -m MODEL [options]", "Print a text with its misspelt words corrected; all else stays as it is."),
    ),
    "completion": (
        options.completion,
        ("SHELL", "Print a script that completes commands, options and values; a shell's startup file reads it."),
    ),
    "demo": (options.demo, ("", "Train every learner on the docstrings of this Python's standard library.")),
}


def parser_of(command: str) -> CommandParser:
    """The parser of a command."""
    add, about = COMMANDS[command]
    parser = CommandParser(command, *about)
    add(parser)
    options.common(parser)
    return parser


def parse(command: str, words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line."""
    return parser_of(command).parse(words)
