"""The options of the commands that correct spelling."""

from fastlin.cli.arguments import CommandParser, number
from fastlin.cli.options import fitting


def train(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="text as it is written; - is standard input")
    group = parser.add_argument_group("in place of a text")
    group.add_argument("--source", metavar="FILE", help="a language model of words: a model file, or .arpa")
    group.add_argument("--dictionary", metavar="FILE", help="words, one a line, or each with a tab and its count")
    group = parser.add_argument_group("misspellings")
    group.add_argument("--pairs", metavar="FILE", help="right and wrong words to learn from, a tab between them")
    group.add_argument("--max-edits", type=int, metavar="N", help="how far a word may be from what was written")
    group.add_argument("--error-rate", type=number, metavar="X", help="p that a word is misspelt")
    group.add_argument("--edit-probability", type=number, metavar="X", help="p of an edit that no rule knows")
    group = parser.add_argument_group("words")
    group.add_argument("--order", type=int, metavar="N", help="the n of n-grams (default 3)")
    group.add_argument("--min-count", type=int, metavar="N", help="words seen less often are not in the dictionary")
    group = parser.add_argument_group("model file")
    group.add_argument("-m", "--model", required=True, metavar="FILE", help="where to save it")
    fitting(group)


def correct(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE", help="text; - is standard input")
    parser.add_argument("-m", "--model", required=True, metavar="FILE", help="a model that spell train has saved")
    parser.add_argument("--no-verify", action="store_true", help="for a large model that was verified before")
    parser.add_argument("--jobs", type=int, metavar="N", help="threads; the corrections are the same")
    parser.add_argument("--error-rate", type=number, metavar="X", help="p that a word is misspelt: higher, more change")
    parser.add_argument(
        "--suggest", type=int, metavar="N", help="read words, one a line; print N that each may stand for, with ln p"
    )
    parser.add_argument(
        "--interactive", action="store_true", help="ask for lines; show what else changed words may stand for"
    )
