"""The options of every command. Only argparse is needed here."""

import argparse
import codecs
import re
from collections.abc import Callable, Sequence
from typing import NoReturn

from fastlin.cli.messages import UserError, did_you_mean

LEARNERS = {
    "logistic": "logistic regression (maxent) to the optimum: --C",
    "svm": "linear support vector machine to the optimum: --C, --loss",
    "nb": "multinomial naive Bayes of counts: --alpha",
    "semi-nb": "the same by EM, where the label -1, or none, says that there is none: --alpha",
    "perceptron": "averaged perceptron: --epochs",
    "pa": "averaged passive-aggressive: --C, --loss, --epochs",
    "mira": "averaged MIRA: --C, --epochs",
    "sgd": "stochastic gradient descent, steps by Adagrad: --alpha, --loss, --epochs",
    "ftrl": "FTRL-Proximal with L1, for sparse models: --alpha, --loss, --epochs",
}
ALIASES = {"maxent": "logistic", "bayes": "nb", "naive-bayes": "nb", "passive-aggressive": "pa", "linear-svm": "svm"}
TAGGERS = {
    "crf": "conditional random field to the optimum: --c1, --c2",
    "perceptron": "averaged structured perceptron: --epochs",
    "memm": "maximum-entropy Markov model: --C",
    "hmm": "hidden Markov model of words: --alpha",
}
LANGUAGE_MODELS = {
    "ngram": "smoothed counts of n-grams: --smoothing",
    "maxent": "a log-linear model with a weight for each n-gram: --prior-variance, --tune, --classes",
    "class-bigram": "soft classes between a word and the next: --classes, --alpha",
}
SMOOTHINGS = (
    "modified_kneser_ney", "kneser_ney", "absolute_discounting", "witten_bell", "katz", "dirichlet", "lidstone",
    "laplace", "relative_frequency",
)  # fmt: skip
PRESETS = ("chunking", "ner", "pos", "ratnaparkhi96")
SCHEMES = ("bio", "iob1", "iobes", "bilou")
FORMATS = ("tsv", "csv", "jsonl", "lines", "fasttext", "svmlight", "vw", "parquet", "arrow")
ANALYZERS = ("word", "char", "char_wb")


class Parser(argparse.ArgumentParser):
    """A parser that says what was meant, and leaves what to do about a mistake to its caller."""

    def __init__(self, command: str, arguments: str, description: str, epilog: str = "") -> None:
        super().__init__(
            f"fastlin {command}",
            usage=f"fastlin {command} {arguments}".strip(),
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; {self.prog} --help explains the options")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The options; a misspelt one is found first, for it makes nonsense of what stands around it."""
        known = [name for action in self._actions for name in action.option_strings]
        for word in words:
            if word == "--":
                break
            name = word.partition("=")[0]
            if name.startswith("--") and name not in known:
                self.error(f"there is no option {name}{did_you_mean(name, known)}")
        return self.parse_args(words)


def choice(values: Sequence[str], aliases: dict[str, str] | None = None) -> Callable[[str], str]:
    """The type of an option that takes one of some values."""

    def check(text: str) -> str:
        name = (aliases or {}).get(text, text)
        if name in values:
            return name
        hint = did_you_mean(text, [*values, *(aliases or {})])
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(values)}{hint}")

    return check


def span(text: str) -> tuple[int, int]:
    """N: 1 to N. M-N: M to N."""
    match = re.fullmatch(r"(?:(\d+)\s*[-,:]\s*)?(\d+)", text)
    low, high = (int(match[1] or 1), int(match[2])) if match else (0, 0)
    if not 1 <= low <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is neither N nor M-N with 1 <= M <= N")
    return low, high


def share(text: str) -> float:
    """A whole number is a number of documents, one with a point a share of them."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of documents nor a share of them") from None


def size(text: str) -> int:
    """Bytes: 500M, 2G, 1.5GB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", text.upper())
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no size like 500M or 2G")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2] or " "))


def number(text: str) -> float:
    """A number: whole numbers stay whole."""
    try:
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


def numbers(text: str) -> list[float]:
    """Numbers with commas between them."""
    return [number(part) for part in text.split(",")]


def whole_numbers(text: str) -> list[int]:
    """Whole numbers with commas between them."""
    found = numbers(text)
    if not all(isinstance(one, int) for one in found):
        raise argparse.ArgumentTypeError(f"{text!r} are no whole numbers")
    return [int(one) for one in found]


def encoding(text: str) -> str:
    """The name of an encoding of texts."""
    try:
        b" ".decode(text)
    except LookupError:
        raise argparse.ArgumentTypeError(f"{text!r} is no encoding of texts") from None
    except UnicodeError:  # of two bytes a character, say: the reader has more to say about it
        pass
    return text


def error_handler(text: str) -> str:
    """What is done about bytes that are no text."""
    try:
        codecs.lookup_error(text)
    except LookupError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither replace nor ignore") from None
    return text


def assignment(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()


def column(text: str) -> int | str:
    """The number or the name of a column."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def columns(text: str) -> list[int | str]:
    """Numbers or names with commas between them."""
    return [column(part) for part in text.split(",")]


def common(parser: Parser) -> None:
    """What every command knows."""
    group = parser.add_argument_group("talking")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary")
    group.add_argument("-v", "--verbose", action="store_true", help="progress even where stderr is no terminal")


def reading(parser: Parser, labelled: bool = True) -> None:
    """How files are read."""
    group = parser.add_argument_group("reading; a COLUMN is a number from 0, or a name")
    group.add_argument(
        "--format",
        type=choice(FORMATS),
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
        type=choice(("raise", "skip")),
        default="raise",
        metavar="DO",
        help="raise or skip malformed lines",
    )


def features(parser: Parser) -> None:
    """How texts become features."""
    group = parser.add_argument_group("features of texts")
    group.add_argument(
        "--ngrams", type=span, default=(1, 1), metavar="N", help="1 to N words or characters; M-N: M to N"
    )
    group.add_argument(
        "--analyzer",
        type=choice(ANALYZERS),
        default="word",
        metavar="NAME",
        help=f"{', '.join(ANALYZERS)} (default word)",
    )
    group.add_argument("--token-pattern", metavar="REGEX", help="what a word is (default: 2 or more letters or digits)")
    group.add_argument("--hash", type=int, metavar="BITS", help="hash features into 2^BITS columns: no vocabulary")
    group.add_argument("--names", type=int, metavar="N", help="with --hash: keep the names of N features, to inspect")
    group.add_argument("--min-df", type=share, metavar="N", help="features that fewer documents have get no column")
    group.add_argument("--max-df", type=share, metavar="N", help="nor do those that more documents have")
    group.add_argument("--max-features", type=int, metavar="N", help="keep the N most frequent features")
    group.add_argument(
        "--lowercase", action=argparse.BooleanOptionalAction, default=True, help="in lower case (default)"
    )
    group.add_argument(
        "--stop-words", type=choice(("english",)), metavar="NAME", help="english: leave out what is frequent in English"
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


def learning(parser: Parser, path: bool = False) -> None:
    """Who learns, and how."""
    group = parser.add_argument_group("learner")
    group.add_argument(
        "--learner", type=choice(tuple(LEARNERS), ALIASES), default="logistic", metavar="NAME", help="see below"
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
        type=choice(("float32", "float64")),
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


def saving(parser: Parser, required: bool) -> None:
    """Where the model goes."""
    group = parser.add_argument_group("model file")
    group.add_argument("-m", "--model", required=required, metavar="FILE", help="where to save the model")
    group.add_argument(
        "--quantise",
        type=choice(("float32", "float16", "int8")),
        metavar="TYPE",
        help="float32, float16 or int8: weights in fewer bits, to serve them",
    )
    group.add_argument("--prune", type=float, default=0.0, metavar="X", help="leave out weights up to X")


def sizes(parser: Parser) -> None:
    """What does not fit into memory."""
    group = parser.add_argument_group("files larger than memory")
    group.add_argument("--out-of-core", action="store_true", help="even if they would fit")
    group.add_argument("--memory", type=size, metavar="SIZE", help="what may be used (default: half of what is free)")


def train(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled documents; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="labelled documents to report the accuracy on")
    saving(parser, required=True)
    learning(parser)
    features(parser)
    reading(parser)
    sizes(parser)
    group = parser.add_argument_group("long fits")
    group.add_argument("--checkpoint", metavar="FILE", help="write the state of the fit here now and then")
    group.add_argument("--every", type=float, default=60.0, metavar="SECONDS", help="how often (default 60)")
    group.add_argument("--resume", action="store_true", help="go on from the checkpoint, if it is there")


def predict(parser: Parser) -> None:
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


def evaluate(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled documents; - is standard input")
    parser.add_argument("-m", "--model", required=True, metavar="FILE", help="a model that train has saved")
    parser.add_argument("--min-accuracy", type=float, metavar="X", help="exit with 1 if the accuracy is below X")
    parser.add_argument("--min-f1", type=float, metavar="X", help="exit with 1 if the mean of the F1 is below X")
    group = parser.add_argument_group("figures of scores, which need memory for a number a label a document")
    group.add_argument("--auc", action="store_true", help="ROC AUC of each label against the rest, and their mean")
    group.add_argument("--top", type=whole_numbers, metavar="K,…", help="how often the label is among the K best")
    group.add_argument("--threshold", type=numbers, metavar="X,…", help="what is left if only scores from X on count")
    group.add_argument("--min-precision", type=float, metavar="X", help="each label's lowest threshold that has it")
    parser.add_argument("--jobs", type=int, metavar="N", help="threads")
    reading(parser)


def inspect(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="strongest features a label (default 10)")
    parser.add_argument("--label", action="append", metavar="LABEL", help="only this label's; may be given again")
    parser.add_argument("--text", "--explain", metavar="TEXT", help="why this document gets its label; - reads it")
    parser.add_argument("--verify", action="store_true", help="prove that the file is whole, and do nothing else")


def convert(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="what to read; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="a folder of shards, or a file")
    parser.add_argument(
        "--to",
        type=choice(("arrow", "npy", "svmlight", "tsv", "jsonl")),
        metavar="NAME",
        help="arrow, npy, svmlight, tsv, jsonl; by the name of PATH if not given",
    )
    parser.add_argument("--save-vectoriser", metavar="FILE", help="save what makes features of texts, to use it again")
    parser.add_argument(
        "--dtype",
        type=choice(("float32", "float64")),
        default="float32",
        metavar="TYPE",
        help="float32 or float64: of the values",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="threads")
    features(parser)
    reading(parser)


def tune(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled documents; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="labelled documents that decide")
    parser.add_argument("--folds", type=int, metavar="N", help="or each of N parts of FILE by a learner of the others")
    parser.add_argument(
        "--metric",
        type=choice(("accuracy", "macro_f1", "log_loss")),
        default="accuracy",
        metavar="NAME",
        help="accuracy, macro_f1 or log_loss: what decides",
    )
    saving(parser, required=False)
    learning(parser, path=True)
    features(parser)
    reading(parser)
    sizes(parser)


def demo(parser: Parser) -> None:
    """No options of its own."""


def in_columns(parser: Parser, label: str) -> None:
    """How sentences are read."""
    group = parser.add_argument_group(
        "reading; a COLUMN is a number from 0 (from the last: -1), or a name of CoNLL-U's"
    )
    group.add_argument(
        "--columns", type=columns, metavar="COLUMN,…", help="what features see (default: all but the label)"
    )
    group.add_argument("--label", type=column, metavar="COLUMN", help=label)
    group.add_argument(
        "--separator", type=choice(("tab", "blanks")), metavar="NAME", help="tab or blanks: between columns"
    )
    group.add_argument(
        "--comments", action=argparse.BooleanOptionalAction, help="whether a line that begins with # is one"
    )
    decoding(group)


def tag_train(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled sentences; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="labelled sentences to report on")
    saving(parser, required=True)
    group = parser.add_argument_group("learner")
    group.add_argument("--learner", type=choice(tuple(TAGGERS)), default="crf", metavar="NAME", help="see below")
    group.add_argument(
        "--features", metavar="NAME", help=f"{', '.join(PRESETS)}; none; or a file of templates, as of CRF++"
    )
    group.add_argument(
        "--gazetteer", type=assignment, action="append", default=[], metavar="NAME=FILE",
        help="a file of names, one a line, for ner to look for; may be given again",
    )  # fmt: skip
    group.add_argument("--order", type=int, metavar="N", help="1 or 2: how many tags before a token it depends on")
    group.add_argument(
        "--constraints", type=choice(SCHEMES), metavar="NAME", help=f"{', '.join(SCHEMES)}: no tags but in their order"
    )
    group.add_argument("--c1", type=number, metavar="X", help="how strong the L1 prior of crf is")
    group.add_argument("--c2", type=number, metavar="X", help="how strong its Gaussian prior is")
    group.add_argument("--C", type=number, metavar="X", help="how much errors cost: the prior's variance of memm")
    group.add_argument("--alpha", type=number, metavar="X", help="pseudo-counts of words of hmm")
    group.add_argument("--epochs", type=int, metavar="N", help="passes over the data, or iterations, at most")
    fitting(group)
    in_columns(parser, "where the right tag is (default: the last)")


def tag_predict(parser: Parser) -> None:
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE", help="sentences; - is standard input")
    parser.add_argument("-m", "--model", required=True, metavar="FILE", help="a model that tag train has saved")
    group = parser.add_argument_group("what is printed")
    group.add_argument("--proba", action="store_true", help="a column of the probabilities of the tags")
    group.add_argument("--nbest", type=int, default=1, metavar="N", help="a column for each of the N best paths")
    group.add_argument("--jobs", type=int, metavar="N", help="threads")
    group.add_argument("--no-verify", action="store_true", help="for a large model that was verified before")
    in_columns(parser, "where the tag goes, in place of what is there (default: behind the last)")


def tag_evaluate(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled sentences; - is standard input")
    parser.add_argument("-m", "--model", required=True, metavar="FILE", help="a model that tag train has saved")
    parser.add_argument("--mistakes", type=int, default=0, metavar="N", help="list N sentences that went wrong")
    parser.add_argument("--min-accuracy", type=float, metavar="X", help="exit with 1 if the accuracy is below X")
    parser.add_argument("--min-f1", type=float, metavar="X", help="exit with 1 if the F1 of spans is below X")
    parser.add_argument("--jobs", type=int, metavar="N", help="threads")
    in_columns(parser, "where the right tag is (default: where it was when the model learnt)")


def lm_smaller(group: argparse._ArgumentGroup) -> None:
    """How the numbers of a language model are kept."""
    group.add_argument(
        "--quantise", type=choice(("float16", "int8")), metavar="TYPE", help="float16 or int8: logarithms in fewer bits"
    )


def lm_model(parser: Parser) -> None:
    """Which model answers."""
    parser.add_argument(
        "-m", "--model", required=True, metavar="FILE", help="a model that lm train has saved, or .arpa"
    )
    parser.add_argument("--no-verify", action="store_true", help="for a large model that was verified before")


def lm_train(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a sentence a line; - is standard input")
    parser.add_argument("--dev", metavar="FILE", help="sentences to report the perplexity of")
    group = parser.add_argument_group("model file")
    group.add_argument("-m", "--model", required=True, metavar="FILE", help="where to save it; .arpa: in ARPA's format")
    lm_smaller(group)
    group = parser.add_argument_group("learner")
    group.add_argument(
        "--learner", type=choice(tuple(LANGUAGE_MODELS)), default="ngram", metavar="NAME", help="see below"
    )
    group.add_argument("--order", type=int, metavar="N", help="the n of n-grams (default 3)")
    group.add_argument("--smoothing", type=choice(SMOOTHINGS), metavar="NAME", help=", ".join(SMOOTHINGS))
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
    group.add_argument(
        "--unit", type=choice(("word", "character")), default="word", metavar="NAME", help="or character"
    )
    group.add_argument("--direction", type=choice(("forward", "backward")), metavar="NAME", help="or backward")
    group.add_argument("--min-count", type=int, default=1, metavar="N", help="words seen less often are unknown")
    group.add_argument("--vocabulary", metavar="FILE", help="the words there are, one a line; others are unknown")
    group.add_argument("--closed", action="store_true", help="there are no unknown words")
    group.add_argument(
        "--markup", type=choice(("raise", "keep")), default="raise", metavar="DO", help="keep <unk> that is in the text"
    )


def lm_score(parser: Parser) -> None:
    parser.add_argument(
        "files", nargs="*", default=["-"], metavar="FILE", help="a sentence a line; - is standard input"
    )
    lm_model(parser)
    parser.add_argument("--words", action="store_true", help="the bits of each word and of each sentence's end")


def lm_perplexity(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a sentence a line; - is standard input")
    lm_model(parser)
    parser.add_argument("--no-end", action="store_true", help="ends of sentences do not count")
    parser.add_argument("--no-oov", action="store_true", help="unknown words do not count")
    parser.add_argument("--mix", action="append", default=[], metavar="FILE", help="another model to mix; again: more")
    parser.add_argument("--cache", type=int, metavar="N", help="mix with a cache of the last N words")
    parser.add_argument(
        "--weights-on", metavar="FILE", help="the text that weights are fitted to (default: equal ones)"
    )
    parser.add_argument("--max-perplexity", type=float, metavar="X", help="exit with 1 if it is above X")


def lm_generate(parser: Parser) -> None:
    lm_model(parser)
    parser.add_argument("-n", type=int, default=1, metavar="N", help="how many sentences")
    parser.add_argument("--prompt", metavar="TEXT", help="how each begins")
    parser.add_argument(
        "--temperature", type=number, default=1.0, metavar="X", help="below 1: what is likely, more often"
    )
    parser.add_argument("--max-length", type=int, default=1000, metavar="N", help="words of a sentence, at most")
    parser.add_argument("--seed", type=int, metavar="N", help="of the draws")


def lm_next(parser: Parser) -> None:
    parser.add_argument(
        "context", nargs="?", metavar="CONTEXT", help="the words before; none: a context a line of stdin"
    )
    lm_model(parser)
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many words (default 10)")


def lm_convert(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model that lm train has saved, or .arpa")
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", required=True, metavar="FILE", help="a model file, or .arpa")
    lm_smaller(group)


def lm_prune(parser: Parser) -> None:
    lm_convert(parser)
    group = parser.add_argument_group("what is left out")
    group.add_argument("--threshold", type=float, metavar="X", help="n-grams whose loss raises the perplexity by less")
    group.add_argument("--min-count", type=whole_numbers, metavar="N,…", help="n-grams seen less often, for each order")


TAGGER_TABLE = "\n".join(["learners:", *(f"  {name:<12}{text}" for name, text in TAGGERS.items())])
LANGUAGE_TABLE = "\n".join(["learners:", *(f"  {name:<14}{text}" for name, text in LANGUAGE_MODELS.items())])
TABLE = "\n".join(["learners:", *(f"  {name:<12}{text}" for name, text in LEARNERS.items())])
COMMANDS: dict[str, tuple[Callable[[Parser], None], tuple[str, ...]]] = {
    "train": (
        train,
        (
            "FILE... -m MODEL [options]",
            "Learn a model from labelled documents, a label, a tab and a text a line.",
            TABLE,
        ),
    ),
    "predict": (
        predict,
        ("[FILE...] -m MODEL [options]", "Print the label of every document on a line, as soon as it is known."),
    ),
    "evaluate": (
        evaluate,
        ("FILE... -m MODEL [options]", "Accuracy, precision and recall by label, confusions, log loss, calibration."),
    ),
    "inspect": (inspect, ("MODEL [options]", "Print what a model holds; nothing in the file is run.")),
    "convert": (
        convert,
        ("FILE... -o PATH [options]", "Turn files of any kind into shards, read without parsing, or into other files."),
    ),
    "tune": (
        tune,
        (
            "FILE... (--dev FILE | --folds N) [options]",
            "Try values of C or alpha; keep the one that does best on other documents.",
            TABLE,
        ),
    ),
    "tag train": (
        tag_train,
        (
            "FILE... -m MODEL [options]",
            "Learn to tag from sentences in columns: a token a line, an empty line behind each sentence.",
            TAGGER_TABLE,
        ),
    ),
    "tag predict": (
        tag_predict,
        ("[FILE...] -m MODEL [options]", "Print sentences with a tag behind every token, as soon as they are known."),
    ),
    "tag evaluate": (
        tag_evaluate,
        ("FILE... -m MODEL [options]", "Precision, recall and F1 of spans as conlleval prints them, or those of tags."),
    ),
    "lm train": (
        lm_train,
        (
            "FILE... -m MODEL [options]",
            "Learn a language model from sentences, one a line, words between blanks.",
            LANGUAGE_TABLE,
        ),
    ),
    "lm score": (lm_score, ("[FILE...] -m MODEL [options]", "Print ln p of every sentence, its end included.")),
    "lm perplexity": (lm_perplexity, ("FILE... -m MODEL [options]", "How a text surprises a model, or several.")),
    "lm generate": (lm_generate, ("-m MODEL [options]", "Draw sentences, word by word.")),
    "lm next": (lm_next, ("[CONTEXT] -m MODEL [options]", "Print the most probable next words.")),
    "lm convert": (lm_convert, ("MODEL -o FILE [options]", "From ARPA's format to a model file, or back.")),
    "lm prune": (lm_prune, ("MODEL -o FILE [options]", "Leave out the n-grams that matter least.")),
    "demo": (demo, ("", "Train every learner on the docstrings of this Python's standard library.")),
}


def parser_of(command: str) -> Parser:
    """What a command takes."""
    add, about = COMMANDS[command]
    parser = Parser(command, *about)
    add(parser)
    common(parser)
    return parser


def parse(command: str, words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line."""
    return parser_of(command).parse(words)
