"""The options of the commands of taggers."""

from fastlin.cli.arguments import AnyOf, CommandParser, assignment, column, number, numbers
from fastlin.cli.options import checkpoints, column_layout, decoding, fitting, saving

TAGGERS = {
    "crf": "conditional random field to the optimum: --c1, --c2",
    "perceptron": "averaged structured perceptron: --epochs",
    "memm": "maximum-entropy Markov model: --C",
    "hmm": "hidden Markov model of words: --alpha",
}
TOKENIZERS = ("words", "blanks")  # of sequence/word_tokenizer.py
PRESETS = ("chunking", "ner", "pos", "ratnaparkhi96")
SCHEMES = ("bio", "iob1", "iobes", "bilou")


def in_columns(parser: CommandParser, label: str) -> None:
    """Options of reading sentences."""
    group = parser.add_argument_group(
        "reading; a COLUMN is a number from 0 (from the last: -1), or a name of CoNLL-U's"
    )
    column_layout(group)
    group.add_argument("--label", type=column, metavar="COLUMN", help=label)
    decoding(group)


def train(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled sentences; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="labelled sentences to report on")
    saving(parser, required=True)
    learning(parser)
    to_learn_from(parser)
    parser.add_argument(
        "--weight-comment", metavar="NAME", help='the comments "# NAME = 2.5" say how much their sentences count'
    )
    checkpoints(parser)


def tune(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled sentences; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="labelled sentences that decide")
    parser.add_argument("--folds", type=int, metavar="N", help="or each of N parts of FILE by a learner of the others")
    parser.add_argument(
        "--metric", type=AnyOf(("accuracy", "f1")), metavar="NAME",
        help="accuracy of tags, or f1 of spans: what decides (f1, if there are spans)",
    )  # fmt: skip
    saving(parser, required=False)
    learning(parser, path=True)
    to_learn_from(parser)


def learning(parser: CommandParser, path: bool = False) -> None:
    """Who learns, and how."""
    group = parser.add_argument_group("learner")
    group.add_argument("--learner", type=AnyOf(tuple(TAGGERS)), default="crf", metavar="NAME", help="see below")
    if path:
        group.add_argument("--parameter", metavar="NAME", help="what is tuned; c2, C or alpha, if not given")
        group.add_argument("--path", type=numbers, metavar="A,B,…", help="its values")
    group.add_argument(
        "--features", metavar="NAME", help=f"{', '.join(PRESETS)}; none; or a file of templates, as of CRF++"
    )
    group.add_argument(
        "--gazetteer", type=assignment, action="append", default=[], metavar="NAME=FILE",
        help="a file of names, one a line, for ner to look for; may be given again",
    )  # fmt: skip
    group.add_argument("--order", type=int, metavar="N", help="1 or 2: how many tags before a token it depends on")
    group.add_argument(
        "--constraints",
        type=AnyOf(SCHEMES),
        metavar="NAME",
        help=f"{', '.join(SCHEMES)}: no tags but in their order",
    )
    group.add_argument("--c1", type=number, metavar="X", help="how strong the L1 prior of crf is")
    group.add_argument("--c2", type=number, metavar="X", help="how strong its Gaussian prior is")
    group.add_argument("--C", type=number, metavar="X", help="how much errors cost: the prior's variance of memm")
    group.add_argument("--alpha", type=number, metavar="X", help="pseudo-counts of words of hmm")
    group.add_argument("--epochs", type=int, metavar="N", help="passes over the data, or iterations, at most")
    fitting(group)


def to_learn_from(parser: CommandParser) -> None:
    """How sentences with labels are read."""
    in_columns(parser, "where the right tag is (default: the last)")
    parser.add_argument(
        "--unknown-label", metavar="SIGN", help="what stands for a tag that is not known: ? or _, say; not in --dev"
    )


def predict(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE", help="sentences; - is standard input")
    parser.add_argument("-m", "--model", required=True, metavar="FILE", help="a model that tag train has saved")
    group = parser.add_argument_group("what is printed")
    group.add_argument("--proba", action="store_true", help="a column of the probabilities of the tags")
    group.add_argument("--nbest", type=int, default=1, metavar="N", help="a column for each of the N best paths")
    group.add_argument(
        "--format", type=AnyOf(("columns", "lines")), metavar="NAME",
        help="columns (the default), or lines: text with a sentence on each line",
    )  # fmt: skip
    group.add_argument(
        "--tokens", type=AnyOf(tuple(TOKENIZERS)), metavar="NAME",
        help="how lines become words: words (the default: signs are words of their own), or blanks",
    )  # fmt: skip
    group.add_argument("--jobs", type=int, metavar="N", help="threads")
    group.add_argument("--no-verify", action="store_true", help="for a large model that was verified before")
    in_columns(parser, "where the tag goes, in place of what is there (default: behind the last)")


def evaluate(parser: CommandParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="models (or -m), then labelled sentences; - is standard input",
    )
    parser.add_argument("-m", "--model", metavar="FILE", help="a model that tag train has saved; of several, the first")
    parser.add_argument("--mistakes", type=int, default=0, metavar="N", help="list N sentences that went wrong")
    parser.add_argument("--min-accuracy", type=float, metavar="X", help="exit with 1 if the accuracy is below X")
    parser.add_argument("--min-f1", type=float, metavar="X", help="exit with 1 if the F1 of spans is below X")
    parser.add_argument("--jobs", type=int, metavar="N", help="threads")
    in_columns(parser, "where the right tag is (default: where it was when the model learnt)")
