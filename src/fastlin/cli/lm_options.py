"""The options of the commands of language models."""

import argparse

from fastlin.cli.arguments import AnyOf, CommandParser, number, numbers, whole_numbers
from fastlin.cli.options import fitting

LANGUAGE_MODELS = {
    "ngram": "smoothed counts of n-grams: --smoothing",
    "maxent": "a log-linear model with a weight for each n-gram: --prior-variance, --tune, --classes",
    "class-bigram": "soft classes between a word and the next: --classes, --alpha",
}
SMOOTHINGS = (
    "modified_kneser_ney", "kneser_ney", "absolute_discounting", "witten_bell", "katz", "dirichlet", "lidstone",
    "laplace", "relative_frequency",
)  # fmt: skip

UNITS, DIRECTIONS, MARKUPS = ("word", "character"), ("forward", "backward"), ("raise", "keep")


def quantising(group: argparse._ArgumentGroup) -> None:
    """Options of the numbers of model files."""
    group.add_argument(
        "--quantise",
        type=AnyOf(("float16", "int8")),
        metavar="TYPE",
        help="float16 or int8: logarithms in fewer bits",
    )


def model_to_ask(parser: CommandParser) -> None:
    """Options that name the model to ask."""
    parser.add_argument(
        "-m", "--model", required=True, metavar="FILE", help="a model that lm train has saved, or .arpa"
    )
    parser.add_argument("--no-verify", action="store_true", help="for a large model that was verified before")
    reading_arpa(parser)


def reading_arpa(parser: CommandParser) -> None:
    """What a file in ARPA's format does not say of its model."""
    group = parser.add_argument_group("model in ARPA's format")
    group.add_argument(
        "--unit", type=AnyOf(UNITS), metavar="NAME", help="what its words are: word (default), or character"
    )
    group.add_argument(
        "--direction",
        type=AnyOf(DIRECTIONS),
        metavar="NAME",
        help="forward (default); backward: from what follows",
    )
    group.add_argument("--markup", type=AnyOf(MARKUPS), metavar="DO", help="keep <unk> that is in the text")


def train(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a sentence a line; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="sentences to report the perplexity of")
    group = parser.add_argument_group("model file")
    group.add_argument("-m", "--model", required=True, metavar="FILE", help="where to save it; .arpa: in ARPA's format")
    quantising(group)
    group = parser.add_argument_group("learner")
    group.add_argument(
        "--learner", type=AnyOf(tuple(LANGUAGE_MODELS)), default="ngram", metavar="NAME", help="see below"
    )
    group.add_argument("--order", type=int, metavar="N", help="the n of n-grams (default 3)")
    group.add_argument("--smoothing", type=AnyOf(SMOOTHINGS), metavar="NAME", help=", ".join(SMOOTHINGS))
    group.add_argument(
        "--alpha", type=number, metavar="X", help="pseudo-counts of dirichlet, lidstone and class-bigram"
    )
    group.add_argument("--prior-variance", type=numbers, metavar="X,…", help="of maxent, for each order")
    group.add_argument("--tune", action="store_true", help="let --dev choose the prior of maxent")
    group.add_argument("--classes", type=int, metavar="N", help="of words: of class-bigram, or for Model M of maxent")
    group.add_argument("--cutoff", type=whole_numbers, metavar="N,…", help="n-grams seen less often are left out")
    group.add_argument("--memory", metavar="SIZE", help="count in sorted runs on disk, with no more memory than that")
    fitting(group)
    group = parser.add_argument_group("words")
    group.add_argument("--unit", type=AnyOf(UNITS), default="word", metavar="NAME", help="or character")
    group.add_argument("--direction", type=AnyOf(DIRECTIONS), metavar="NAME", help="or backward")
    group.add_argument("--min-count", type=int, default=1, metavar="N", help="words seen less often are unknown")
    group.add_argument("--vocabulary", metavar="FILE", help="the words there are, one a line; others are unknown")
    group.add_argument("--closed", action="store_true", help="there are no unknown words")
    group.add_argument(
        "--markup", type=AnyOf(MARKUPS), default="raise", metavar="DO", help="keep <unk> that is in the text"
    )


def score(parser: CommandParser) -> None:
    parser.add_argument(
        "files", nargs="*", default=["-"], metavar="FILE", help="a sentence a line; - is standard input"
    )
    model_to_ask(parser)
    parser.add_argument("--words", action="store_true", help="the bits of each word and of each sentence's end")


def perplexity(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a sentence a line; - is standard input")
    model_to_ask(parser)
    parser.add_argument("--no-end", action="store_true", help="ends of sentences do not count")
    parser.add_argument("--no-oov", action="store_true", help="unknown words do not count")
    parser.add_argument("--mix", action="append", default=[], metavar="FILE", help="another model to mix; again: more")
    parser.add_argument("--cache", type=int, metavar="N", help="mix with a cache of the last N words")
    parser.add_argument(
        "--weights-on", metavar="FILE", help="the text that weights are fitted to (default: equal ones)"
    )
    parser.add_argument("--max-perplexity", type=float, metavar="X", help="exit with 1 if it is above X")


def generate(parser: CommandParser) -> None:
    model_to_ask(parser)
    parser.add_argument("-n", type=int, default=1, metavar="N", help="how many sentences")
    parser.add_argument("--prompt", metavar="TEXT", help="how each begins")
    parser.add_argument(
        "--temperature", type=number, default=1.0, metavar="X", help="below 1: what is likely, more often"
    )
    parser.add_argument("--max-length", type=int, default=1000, metavar="N", help="words of a sentence, at most")
    parser.add_argument("--seed", type=int, metavar="N", help="of the draws")


def next_word(parser: CommandParser) -> None:
    parser.add_argument(
        "context", nargs="?", metavar="CONTEXT", help="the words before; none: a context a line of stdin"
    )
    model_to_ask(parser)
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many words (default 10)")


def convert(parser: CommandParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model that lm train has saved, or .arpa")
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", required=True, metavar="FILE", help="a model file, or .arpa")
    quantising(group)
    reading_arpa(parser)


def prune(parser: CommandParser) -> None:
    convert(parser)
    group = parser.add_argument_group("what is left out")
    group.add_argument("--threshold", type=float, metavar="X", help="n-grams whose loss raises the perplexity by less")
    group.add_argument("--min-count", type=whole_numbers, metavar="N,…", help="n-grams seen less often, for each order")
