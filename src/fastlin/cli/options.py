"""The options of the commands of classifiers, and those that others share."""

import argparse

from fastlin.cli.arguments import (
    AnyOf,
    CommandParser,
    assignment,
    columns,
    encoding,
    error_handler,
    number,
    numbers,
    share,
    size,
    span,
    whole_numbers,
)
from fastlin.registry import FILE_FORMATS

LEARNERS = {
    "logistic": "logistic regression (maxent) to the optimum: --C",
    "svm": "linear support vector machine to the optimum: --C, --loss",
    "nb": "multinomial naive Bayes of counts: --alpha",
    "complement-nb": "naive Bayes by the counts of all other labels: --alpha",
    "bernoulli-nb": "naive Bayes of what occurs, and what does not: --alpha",
    "semi-nb": "multinomial naive Bayes by EM, where the label -1, or none, says that there is none: --alpha",
    "centroid": "the nearest mean of a label's documents",
    "perceptron": "averaged perceptron: --epochs",
    "pa": "averaged passive-aggressive: --C, --loss, --epochs",
    "mira": "averaged MIRA: --C, --epochs",
    "arow": "AROW, a variance for each weight: --set r=, --epochs",
    "sgd": "stochastic gradient descent, steps by Adagrad: --alpha, --loss, --epochs",
    "ftrl": "FTRL-Proximal with L1, for sparse models: --alpha, --loss, --epochs",
    "ridge": "labels are numbers: least squares with an L2 penalty: --alpha",
    "svr": "labels are numbers: linear support vector regression to the optimum: --C, --loss",
    "sgd-regressor": "labels are numbers: stochastic gradient descent, steps by Adagrad: --alpha, --loss, --epochs",
}
ALIASES = {
    "maxent": "logistic", "bayes": "nb", "naive-bayes": "nb", "passive-aggressive": "pa", "linear-svm": "svm",
    "rocchio": "centroid", "least-squares": "ridge",
}  # fmt: skip
FORMATS = tuple(FILE_FORMATS)
IMPORTED, EXPORTED = ("liblinear", "vw", "crfsuite", "safetensors"), ("safetensors", "joblib")
ANALYZERS = ("word", "char", "char_wb")


def common(parser: CommandParser) -> None:
    """What every command knows."""
    group = parser.add_argument_group("talking")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary")
    group.add_argument("-v", "--verbose", action="store_true", help="progress even where stderr is no terminal")


def reading(parser: CommandParser, labelled: bool = True) -> None:
    """How files are read."""
    group = parser.add_argument_group("reading; a COLUMN is a number from 0, or a name")
    group.add_argument(
        "--format",
        type=AnyOf(FORMATS),
        metavar="NAME",
        help=f"{', '.join(FORMATS)}; by the name of the file if not given",
    )
    group.add_argument("--label", metavar="COLUMN", help="where the label is; none: there are no labels")
    group.add_argument(
        "--text", action="append", metavar="COLUMN", help="where the text is; given again, texts are joined"
    )
    if labelled:
        group.add_argument("--weight", metavar="COLUMN", help="where the weight of a document is, for learning")
    group.add_argument("--delimiter", metavar="CHARACTER", help="between the columns of tsv and csv")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of tsv and csv names the columns",
    )
    group.add_argument(
        "--first-index",
        type=int,
        choices=(0, 1),
        help="of svmlight's columns, 0 or 1; that of the model, or to learn 1 if 0 does not occur",
    )
    decoding(group)


def column_layout(group: argparse._ArgumentGroup) -> None:
    """How the columns of sentences are told apart, and which of them are features."""
    group.add_argument(
        "--columns", type=columns, metavar="COLUMN,…", help="what features see (default: all but the label)"
    )
    group.add_argument(
        "--separator", type=AnyOf(("tab", "blanks")), metavar="NAME", help="tab or blanks: between columns"
    )
    group.add_argument(
        "--comments", action=argparse.BooleanOptionalAction, help="whether a line that begins with # is one"
    )


def decoding(group: argparse._ArgumentGroup) -> None:
    """From bytes to texts, and what is done about malformed lines."""
    group.add_argument("--encoding", type=encoding, metavar="NAME", help="of texts (default utf-8)")
    group.add_argument(
        "--errors",
        type=error_handler,
        metavar="NAME",
        help="replace or ignore bytes that are no text, rather than stop",
    )
    group.add_argument(
        "--on-error",
        type=AnyOf(("raise", "skip")),
        default="raise",
        metavar="DO",
        help="raise or skip malformed lines",
    )


def features(parser: CommandParser) -> None:
    """How texts become features."""
    group = parser.add_argument_group("features of texts")
    group.add_argument(
        "--ngrams", type=span, default=(1, 1), metavar="N", help="1 to N words or characters; M-N: M to N"
    )
    group.add_argument(
        "--analyzer",
        type=AnyOf(ANALYZERS),
        default="word",
        metavar="NAME",
        help=f"{', '.join(ANALYZERS)} (default word)",
    )
    group.add_argument("--token-pattern", metavar="REGEX", help="what a word is (default: 2 or more letters or digits)")
    group.add_argument("--hash", type=int, metavar="BITS", help="hash features into 2^BITS columns: no vocabulary")
    group.add_argument(
        "--keep-names", type=int, metavar="N", help="with --hash: keep the names of N features, to inspect"
    )
    group.add_argument("--min-df", type=share, metavar="N", help="features that fewer documents have get no column")
    group.add_argument("--max-df", type=share, metavar="N", help="nor do those that more documents have")
    group.add_argument("--max-features", type=int, metavar="N", help="keep the N most frequent features")
    group.add_argument(
        "--lowercase", action=argparse.BooleanOptionalAction, default=True, help="in lower case (default)"
    )
    group.add_argument(
        "--stop-words",
        type=AnyOf(("english",)),
        metavar="NAME",
        help="english: leave out what is frequent in English",
    )
    weighing = group.add_mutually_exclusive_group()
    weighing.add_argument(
        "--tfidf", dest="weighing", action="store_const", const="tfidf", help="weigh by rarity (default)"
    )
    weighing.add_argument(
        "--counts", dest="weighing", action="store_const", const="counts", help="counts (default of nb)"
    )
    weighing.add_argument("--binary", dest="weighing", action="store_const", const="binary", help="1 for what is there")
    group.add_argument(
        "--sublinear", action=argparse.BooleanOptionalAction, help="weigh 1 + log of the count (default of --tfidf)"
    )
    group.add_argument("--negation", action="store_true", help="words after a negator become NOT_word")
    group.add_argument("--vectoriser", metavar="FILE", help="take the features of this model, which are learnt already")


def learning(parser: CommandParser, path: bool = False) -> None:
    """Who learns, and how."""
    group = parser.add_argument_group("learner")
    group.add_argument(
        "--learner", type=AnyOf(tuple(LEARNERS), ALIASES), default="logistic", metavar="NAME", help="see below"
    )
    if path:
        group.add_argument("--parameter", metavar="NAME", help="what is tuned; C or alpha, whichever the learner has")
        group.add_argument("--path", type=numbers, metavar="A,B,…", help="its values")
    group.add_argument("--C", type=number, metavar="X", help="how much errors cost: the prior's variance of logistic")
    group.add_argument("--alpha", type=number, metavar="X", help="pseudo-counts of nb, penalty of sgd and ftrl")
    group.add_argument("--epochs", type=int, metavar="N", help="passes over the data, at most")
    group.add_argument("--loss", metavar="NAME", help="log_loss, hinge, squared_hinge, …: what the learner has")
    group.add_argument(
        "--average", action=argparse.BooleanOptionalAction, help="the mean of all weights met on the way"
    )
    fitting(group)
    group.add_argument(
        "--dtype",
        type=AnyOf(("float32", "float64")),
        default="float32",
        metavar="TYPE",
        help="float32 or float64: of values and weights",
    )


def fitting(group: argparse._ArgumentGroup) -> None:
    """What all who learn take."""
    group.add_argument(
        "--set", type=assignment, action="append", default=[], metavar="NAME=VALUE",
        help="any parameter of the learner's class, as in Python",
    )  # fmt: skip
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of the order of the rows (default 0)")
    group.add_argument("--jobs", type=int, metavar="N", help="threads; the model is the same. -1: one a processor")


def saving(parser: CommandParser, required: bool) -> None:
    """Where the model goes."""
    group = parser.add_argument_group("model file")
    group.add_argument("-m", "--model", required=required, metavar="FILE", help="where to save the model")
    group.add_argument(
        "--quantise",
        type=AnyOf(("float32", "float16", "int8")),
        metavar="TYPE",
        help="float32, float16 or int8: weights in fewer bits, to serve them",
    )
    group.add_argument("--prune", type=float, default=0.0, metavar="X", help="leave out weights up to X")


def sizes(parser: CommandParser) -> None:
    """What does not fit into memory."""
    group = parser.add_argument_group("files larger than memory")
    group.add_argument("--out-of-core", action="store_true", help="even if they would fit")
    group.add_argument("--memory", type=size, metavar="SIZE", help="what may be used (default: half of what is free)")


def train(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled documents; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="labelled documents to report the accuracy on")
    saving(parser, required=True)
    learning(parser)
    features(parser)
    reading(parser)
    sizes(parser)
    streaming(parser)
    checkpoints(parser)
    group = parser.add_argument_group("a cluster")
    group.add_argument(
        "--cluster", metavar="ADDRESS", help="learn on Dask's workers: tcp://HOST:PORT of a scheduler, or local:N"
    )


def streaming(parser: CommandParser) -> None:
    """Learning while files are read."""
    group = parser.add_argument_group("one pass")
    group.add_argument(
        "--stream", action="store_true",
        help="sgd and ftrl: learn from hashed texts while they are read, once and in their order; no row is kept",
    )  # fmt: skip
    group.add_argument(
        "--labels", type=label_list, metavar="A,B,…", help="with --stream: all labels there are, so files are read once"
    )


def label_list(text: str) -> list[str]:
    """Labels between commas."""
    labels = text.split(",")
    if "" in labels or len(set(labels)) < max(2, len(labels)):
        raise argparse.ArgumentTypeError(f"{text!r} does not name two different labels or more, with commas between")
    return labels


def checkpoints(parser: CommandParser) -> None:
    """Fits that may be interrupted."""
    group = parser.add_argument_group("long fits")
    group.add_argument("--checkpoint", metavar="FILE", help="write the state of the fit here now and then")
    group.add_argument(
        "--checkpoint-interval", type=float, default=60.0, metavar="SECONDS", help="how often (default 60)"
    )
    group.add_argument("--resume", action="store_true", help="go on from the checkpoint, if it is there")


def predict(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE", help="documents; - is standard input")
    parser.add_argument("-m", "--model", required=True, metavar="FILE", help="a model that train has saved")
    group = parser.add_argument_group("what is printed")
    figures = group.add_mutually_exclusive_group()
    figures.add_argument("--proba", action="store_true", help="a probability behind each label")
    figures.add_argument("--scores", action="store_true", help="a score behind each label")
    group.add_argument("--top", type=int, default=1, metavar="N", help="the N best labels of each document; 0: all")
    group.add_argument("--id", metavar="COLUMN", help="print this column before the label")
    group.add_argument("--keep", action="append", metavar="COLUMN", help="and this one; may be given again")
    group.add_argument("--jobs", type=int, metavar="N", help="threads")
    group.add_argument("--no-verify", action="store_true", help="for a large model that was verified before")
    reading(parser, labelled=False)


def evaluate(parser: CommandParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="models (or -m), then labelled documents; - is standard input",
    )
    parser.add_argument("-m", "--model", metavar="FILE", help="a model that train has saved; of several, the first")
    parser.add_argument("--min-accuracy", type=float, metavar="X", help="exit with 1 if the accuracy is below X")
    parser.add_argument("--min-f1", type=float, metavar="X", help="exit with 1 if the mean of the F1 is below X")
    parser.add_argument("--min-r2", type=float, metavar="X", help="of numbers: exit with 1 if R² is below X")
    group = parser.add_argument_group("figures of scores, which need memory for a number a label a document")
    group.add_argument("--auc", action="store_true", help="ROC AUC of each label against the rest, and their mean")
    group.add_argument("--top", type=whole_numbers, metavar="K,…", help="how often the label is among the K best")
    group.add_argument("--threshold", type=numbers, metavar="X,…", help="what is left if only scores from X on count")
    group.add_argument("--min-precision", type=float, metavar="X", help="each label's lowest threshold that has it")
    parser.add_argument("--jobs", type=int, metavar="N", help="threads")
    reading(parser)


def report(parser: CommandParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a model, or two, then documents or sentences; - is standard input",
    )
    parser.add_argument("-m", "--model", metavar="FILE", help="the model, or the first of two, if not among the files")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the HTML file")
    parser.add_argument("--title", metavar="TEXT", help="its title")
    parser.add_argument("--mistakes", type=int, default=50, metavar="N", help="list N mistakes (default 50)")
    parser.add_argument(
        "--top", dest="features", type=int, default=15, metavar="N", help="strongest features a label (default 15)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="threads")
    reading(parser)
    column_layout(parser.add_argument_group("reading sentences in columns, for models that tag"))


def inspect(parser: CommandParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "--top", type=int, default=10, metavar="N", help="strongest features a label, or rules (default 10)"
    )
    parser.add_argument(
        "--label", action="append", metavar="LABEL", help="only this label's, or symbol's; may be given again"
    )
    parser.add_argument("--text", "--explain", metavar="TEXT", help="why this document gets its label; - reads it")
    parser.add_argument(
        "--token",
        type=int,
        metavar="N",
        help="of a tagger: why this token of --text gets its tag, from 0 (default: all)",
    )
    parser.add_argument("--verify", action="store_true", help="prove that the file is whole, and do nothing else")


def convert(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="what to read; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="a folder of shards, or a file")
    parser.add_argument(
        "--to",
        type=AnyOf(("arrow", "npy", "svmlight", "tsv", "jsonl")),
        metavar="NAME",
        help="arrow, npy, svmlight, tsv, jsonl; by the name of PATH if not given",
    )
    parser.add_argument("--save-vectoriser", metavar="FILE", help="save what makes features of texts, to use it again")
    parser.add_argument(
        "--dtype",
        type=AnyOf(("float32", "float64")),
        default="float32",
        metavar="TYPE",
        help="float32 or float64: of the values",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="threads")
    features(parser)
    reading(parser)


def import_model(parser: CommandParser) -> None:
    parser.add_argument(
        "model",
        metavar="FILE",
        help="a model of LIBLINEAR, a readable model of Vowpal Wabbit, a dump of CRFsuite, or safetensors of fastlin",
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    parser.add_argument(
        "--from", dest="source", type=AnyOf(IMPORTED), metavar="NAME",
        help=f"{', '.join(IMPORTED)}; by what the file begins with if not given",
    )  # fmt: skip
    parser.add_argument(
        "--loss", type=AnyOf(("log_loss", "hinge", "squared_error")), metavar="NAME",
        help="of Vowpal Wabbit, whose file does not name it: log_loss, hinge or squared_error",
    )  # fmt: skip


def export_model(parser: CommandParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--to", type=AnyOf(EXPORTED), metavar="NAME",
        help="safetensors, or joblib: a pickle of scikit-learn's objects; by the name of FILE if not given",
    )  # fmt: skip


def tune(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled documents; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="labelled documents that decide")
    parser.add_argument("--folds", type=int, metavar="N", help="or each of N parts of FILE by a learner of the others")
    parser.add_argument(
        "--metric",
        type=AnyOf(("accuracy", "macro_f1", "log_loss", "r2", "mae", "rmse")),
        metavar="NAME",
        help="accuracy (default), macro_f1 or log_loss; of numbers r2 (default), mae or rmse: what decides",
    )
    saving(parser, required=False)
    learning(parser, path=True)
    features(parser)
    reading(parser)
    sizes(parser)


def completion(parser: CommandParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


def demo(parser: CommandParser) -> None:
    """No options of its own."""
