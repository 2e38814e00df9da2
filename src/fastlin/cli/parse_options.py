"""The options of the commands of parsers."""

import argparse

from fastlin.cli.arguments import AnyOf, CommandParser, number
from fastlin.cli.options import checkpoints, decoding, fitting

PARSERS = {
    "pcfg": "probabilistic context-free grammar: --vertical, --split-tags, --alpha, --unknown, --rules, --raw",
    "span-crf": "conditional random field of trees, with features of spans: --epochs; better, and minutes to learn",
}
UNKNOWN_WORDS = ("signature", "suffix", "shape", "none")
DECODINGS = ("recall", "viterbi")
RULES = ("counts", "loglinear")
UNPARSED = ("flat", "error")


def horizontal(text: str) -> int | str:
    """A number of children, or all."""
    if text == "all":
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of children nor all")
    return int(text)


def model_to_ask(parser: CommandParser, required: bool = True) -> None:
    """Options that name the parser, and how it parses."""
    parser.add_argument("-m", "--model", required=required, metavar="FILE", help="a model that parse train has saved")
    parser.add_argument("--no-verify", action="store_true", help="for a large model that was verified before")


def parsing(parser: CommandParser) -> None:
    """How sentences are parsed."""
    group = parser.add_argument_group("parsing")
    group.add_argument(
        "--decoding", type=AnyOf(DECODINGS), metavar="NAME",
        help="recall: the tree of the constituents that are expected most; viterbi: the most probable one",
    )  # fmt: skip
    group.add_argument("--jobs", type=int, metavar="N", help="threads, over sentences")


def train(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="trees in brackets; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="trees to report the F1 of")
    group = parser.add_argument_group("learning from sentences whose trees are not known, by EM")
    group.add_argument(
        "--raw", action="append", default=[], metavar="FILE", help="sentences, one a line; may be given again"
    )
    group.add_argument(
        "--brackets", action="append", default=[], metavar="FILE",
        help="sentences of which some constituents are known; (_ …) is one of any label",
    )  # fmt: skip
    group.add_argument("--symbols", type=int, metavar="N", help="begin with a random grammar of N, without trees")
    group.add_argument("--epochs", type=int, metavar="N", help="iterations, at most")
    decoding(group)
    group = parser.add_argument_group("model file")
    group.add_argument("-m", "--model", required=True, metavar="FILE", help="where to save the model")
    group = parser.add_argument_group("learner")
    group.add_argument("--learner", type=AnyOf(tuple(PARSERS)), default="pcfg", metavar="NAME", help="see below")
    group.add_argument(
        "--horizontal",
        type=horizontal,
        metavar="N",
        help="how many children before it a rule knows, or all",
    )
    group.add_argument("--vertical", type=int, metavar="N", help="how many labels a symbol knows, its own first")
    group.add_argument(
        "--split-tags", action=argparse.BooleanOptionalAction, help="whether this holds for tags (default)"
    )
    group.add_argument("--alpha", type=number, metavar="X", help="pseudo-counts of rules that were seen (0)")
    group.add_argument(
        "--unknown", type=AnyOf(UNKNOWN_WORDS), metavar="NAME",
        help=f"{', '.join(UNKNOWN_WORDS)}: which rare words a word is like that was never seen (signature)",
    )  # fmt: skip
    group.add_argument(
        "--rules", type=AnyOf(RULES), metavar="NAME", help="counts (default), or loglinear: by features of labels"
    )
    group.add_argument("--decoding", type=AnyOf(DECODINGS), metavar="NAME", help="recall (default) or viterbi")
    fitting(group)
    checkpoints(parser)


def predict(parser: CommandParser) -> None:
    parser.add_argument(
        "files", nargs="*", default=["-"], metavar="FILE", help="a sentence a line; - is standard input"
    )
    model_to_ask(parser)
    group = parser.add_argument_group("what is printed")
    group.add_argument("--scores", action="store_true", help="ln p of words and tree before the tree")
    group.add_argument("--nbest", type=int, metavar="N", help="the N most probable trees, a line each, an empty line")
    group.add_argument(
        "--marginals", type=float, metavar="P", help="instead, all constituents that are expected more often than P"
    )
    group.add_argument(
        "--unparsed", type=AnyOf(UNPARSED), default="flat", metavar="DO",
        help="flat: a sentence without a tree has a flat one, and a warning; error: stop",
    )  # fmt: skip
    parsing(parser)
    decoding(parser.add_argument_group("reading"))


def evaluate(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="GOLD", help="the right trees; - is standard input")
    parser.add_argument("--predicted", metavar="FILE", help="trees of the same sentences in the same order")
    model_to_ask(parser, required=False)
    group = parser.add_argument_group("what is printed")
    group.add_argument("--parameters", metavar="FILE", help="a parameter file of EVALB (default: COLLINS's settings)")
    group.add_argument("--sentences", action="store_true", help="the figures of each sentence, too")
    group.add_argument("--mistakes", type=int, default=0, metavar="N", help="the N most frequent mistakes, with places")
    group.add_argument("--rules", type=int, default=0, metavar="N", help="the N rules that mistakes are made by most")
    group.add_argument("--min-f1", type=float, metavar="X", help="exit with 1 if the F1 is below X, from 0 to 1")
    parsing(parser)


def sample(parser: CommandParser) -> None:
    model_to_ask(parser)
    parser.add_argument("-n", type=int, default=1, metavar="N", help="how many")
    parser.add_argument("--words", action="store_true", help="only their words")
    parser.add_argument("--max-length", type=int, metavar="N", help="trees of no more words")
    parser.add_argument("--seed", type=int, metavar="N", help="of the draws")
