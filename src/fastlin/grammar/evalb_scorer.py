"""The figures of EVALB (Sekine & Collins 1997) for predicted trees: brackets, crossing brackets, and tags.

A bracket is a label with the words that it spans; it is right if the gold tree has it. Brackets are compared as
multisets: of three (NP …) over the same words, two are right where the gold tree has two. Words whose tags are deleted
(punctuation, traces) do not count, and no bracket that spans only such words. A predicted bracket crosses if some gold
bracket overlaps it and neither holds the other.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import Any, NamedTuple

from fastlin.grammar.evalb_parameters import EvalbParameters, Pair, as_evalb_parameters
from fastlin.grammar.evalb_report import ERROR, SKIPPED, VALID, EvalbReport, EvalbSentence, MistakePlace
from fastlin.grammar.treebank import as_parses
from fastlin.grammar.trees import Child, Tree

_FUNCTIONS = re.compile("[-=].*", re.DOTALL)
_QUOTES = {"'", '"', "/"}
_END = object()
Bracket = tuple[int, int, str]  # the first word, the one after the last, and the label


def evalb(gold: Any, predicted: Any, parameters: Any = None) -> EvalbReport:
    """Judge predicted trees by the gold ones, as EVALB does.

    Sentences that do not fit are counted as EVALB counts them: *skipped*, if the predicted tree is a failed parse or
    has no word left; *error*, if words differ in number or form, which happens where just one of the tags of a word is
    deleted. Neither counts in any other figure.

    The figures are those of the program's version of July 2008 (that of September 2005 has no F-measure, that of
    January 2006 treats quotation marks otherwise), save where it gives none: it ends at 200 words, brackets or 5,000
    characters of a sentence, at labels of 30 and words of 100 characters, at 20 quotation marks, after more errors than
    MAX_ERROR, and at words without a tag; here is no such end, and the tag of a word without one is empty. F1 is 0
    where nothing is right, for which it has "nan".

    Parameters
    ----------
    gold, predicted : list of trees, or path
        The trees of the same sentences in the same order: `Tree`, strings of brackets, nested tuples or NLTK's trees,
        or a file of brackets. A tree that is None or "(())" is a failed parse.
    parameters : path or EvalbParameters, optional
        A parameter file, as COLLINS.prm; default: its settings. The outermost brackets of the Penn Treebank's files
        have the label "", which these settings count: where the other trees have none, name it TOP.

    Returns
    -------
    EvalbReport
        Figures are shares; printed, they are per cent.

    Examples
    --------
    >>> from fastlin.grammar import evalb
    >>> gold = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (ADVP (RB here))) (. .))"]
    >>> predicted = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (PP (NN here))) (. .))"]
    >>> report = evalb(gold, predicted)
    >>> report.overall.recall, report.overall.tag_accuracy
    (0.75, 0.75)
    >>> print(report.errors())
    1 of 1 sentences has mistakes
    <BLANKLINE>
    ADVP taken for PP: 1
      sentence 1: here
    <BLANKLINE>
    tag RB taken for NN: 1
      sentence 1: here
    """
    settings = as_evalb_parameters(parameters)
    scorer = _Scorer(settings)
    n_gold = n_predicted = 0
    pairs: Iterator[tuple[Any, Any]] = zip_longest(
        _parses("gold", gold), _parses("predicted", predicted), fillvalue=_END
    )
    for gold_tree, predicted_tree in pairs:
        n_gold += gold_tree is not _END
        n_predicted += predicted_tree is not _END
        if n_gold == n_predicted:
            scorer.score(n_gold, gold_tree, predicted_tree)
    if n_gold != n_predicted:
        advice = "(()) stands for a sentence without a parse"
        raise ValueError(f"gold has {n_gold} trees, predicted {n_predicted}; the same number is wanted: {advice}")
    if not n_gold:
        raise ValueError("there is nothing to judge: gold has no trees")
    return EvalbReport(settings, tuple(scorer.sentences), tuple(scorer.mistakes))


def _parses(name: str, trees: Any) -> Iterator[Tree | None]:
    """The trees, with the argument's name in errors."""
    try:
        yield from as_parses(trees)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


class _FlatTree(NamedTuple):
    """A tree's words with their tags, and its other constituents, each before those in it."""

    words: list[str]
    tags: list[str]
    labels: list[str]
    firsts: list[int]  # words
    ends: list[int]  # the words after the last


def _flatten(tree: Tree | None) -> _FlatTree:
    words, tags, labels, firsts, ends = flat = _FlatTree([], [], [], [], [])
    todo: list[Child | int | None] = [tree] if tree is not None else []  # a number: this constituent ends
    while todo:
        node = todo.pop()
        if isinstance(node, Tree):
            children = node.children
            if len(children) == 1 and isinstance(children[0], str):
                words.append(children[0])
                tags.append(node.label)
            else:
                todo.append(len(labels))
                labels.append(node.label)
                firsts.append(len(words))
                ends.append(len(words))
                todo += children[::-1]
        elif isinstance(node, int):
            ends[node] = len(words)
        elif node is not None:
            words.append(node)
            tags.append("")
    return flat


class _Scorer:
    """The counts of each sentence, and where its mistakes are."""

    def __init__(self, parameters: EvalbParameters) -> None:
        self.labeled = parameters.labeled
        self.delete_tags = frozenset(parameters.delete_labels)
        self.without_length = frozenset(parameters.delete_labels_for_length)
        self.quote_labels = frozenset(parameters.quote_labels)
        self.equal_labels, self.equal_words = _partners(parameters.equal_labels), _partners(parameters.equal_words)
        same = (self.equal_labels.get(label, {label}) for label in self.delete_tags)
        self.delete_labels = self.delete_tags.union(*same)
        self.base_labels: dict[str, str | None] = {}
        self.sentences: list[EvalbSentence] = []
        self.mistakes: list[MistakePlace] = []

    def score(self, number: int, gold_tree: Tree | None, predicted_tree: Tree | None) -> None:
        """Count one sentence."""
        gold, predicted = _flatten(gold_tree), _flatten(predicted_tree)
        length = sum(tag not in self.without_length for tag in gold.tags)
        times = [[int(tag not in self.delete_tags) for tag in flat.tags] for flat in (gold, predicted)]
        status, reason = VALID, ""
        if not sum(times[1]):
            status, reason = SKIPPED, "predicted has no words" if predicted.words else "predicted has no parse"
        else:
            if sum(times[0]) != sum(times[1]):
                self._restore_quotes(gold, predicted, times)
            reason = self._difference(gold, predicted, times)
            status = ERROR if reason else VALID
        if status != VALID:
            self.sentences.append(EvalbSentence(number, length, status, 0, 0, 0, 0, 0, 0, reason))
            return
        brackets, places = zip(*map(self._brackets, (gold, predicted), times), strict=True)
        missing, spurious = self._match(*brackets)
        n_crossing = _count_crossing(brackets[0], [brackets[1][place][:2] for place in spurious]) if spurious else 0
        wrong_tags = self._wrong_tags(gold, predicted, times)
        n_gold, n_predicted, n_words = len(brackets[0]), len(brackets[1]), sum(times[0])
        tagged, n_matched = n_words - len(wrong_tags), n_gold - len(missing)
        counted = EvalbSentence(number, length, VALID, n_matched, n_gold, n_predicted, n_crossing, n_words, tagged, "")
        self.sentences.append(counted)
        if missing or spurious:
            self._note_brackets(number, (gold, predicted), brackets, places, (missing, spurious))
        for one, other in wrong_tags:
            mistake = ("tag", gold.tags[one], predicted.tags[other])
            self.mistakes.append(MistakePlace(*mistake, number, gold.words, one, one + 1))

    def _restore_quotes(self, gold: _FlatTree, predicted: _FlatTree, times: list[list[int]]) -> None:
        """Keep quotation marks that just one side deletes, so that the words are as many.

        The marks of both sides are run through together, by the number of words kept before them. One that is deleted,
        where the other side has one that is not at the same number, is kept, and what follows it has a word more before
        it. As in EVALB, a mark once kept may be met again, and is kept once more then.
        """
        (marks, following), (others, _) = self._quotes(gold, times[0]), self._quotes(predicted, times[1])
        place = shift = other_shift = 0
        for word, before, deleted in others:
            before += other_shift
            while place < len(marks) and marks[place][1] + shift < before:
                place += 1
            # of the marks with one number before them, those that are deleted come first
            met = following[place] if deleted else place
            if met == len(marks) or marks[met][1] + shift != before or marks[met][2] == deleted:
                continue
            if deleted:
                times[1][word] += 1
                other_shift += 1
            else:
                times[0][marks[met][0]] += 1
                shift += 1

    def _quotes(self, flat: _FlatTree, times: list[int]) -> tuple[list[tuple[int, int, bool]], list[int]]:
        """Of each mark: word, kept words before, whether it is deleted; and for each the next one that is not."""
        marks, n_kept = list[tuple[int, int, bool]](), 0
        for word, (form, tag, kept) in enumerate(zip(flat.words, flat.tags, times, strict=True)):
            if tag in self.quote_labels and form in _QUOTES:
                marks.append((word, n_kept, not kept))
            n_kept += kept
        following = [len(marks)] * (len(marks) + 1)
        for place in reversed(range(len(marks))):
            following[place] = following[place + 1] if marks[place][2] else place
        return marks, following

    def _difference(self, gold: _FlatTree, predicted: _FlatTree, times: list[list[int]]) -> str:
        """What keeps the words from being the same, or ""."""
        if (n_words := sum(times[0])) != (n_others := sum(times[1])):
            return f"gold has {n_words} words that are not deleted, predicted {n_others}"
        words, others = _repeated(gold.words, times[0]), _repeated(predicted.words, times[1])
        if words != others:
            for word, other in zip(words, others, strict=True):
                if word != other and other not in self.equal_words.get(word, ()):
                    return f"gold has the word {word!r}, predicted {other!r}"
        return ""

    def _brackets(self, flat: _FlatTree, times: list[int]) -> tuple[list[Bracket], list[int]]:
        """The brackets that count, each before those in it, and which constituents they are."""
        kept_before = list(accumulate(times, initial=0))
        brackets, places = list[Bracket](), list[int]()
        for place, (label, first, end) in enumerate(zip(flat.labels, flat.firsts, flat.ends, strict=True)):
            start, stop = kept_before[first], kept_before[end]
            if start == stop:
                continue
            if label not in self.base_labels:
                base = _FUNCTIONS.sub("", label)
                self.base_labels[label] = None if base in self.delete_labels else base
            if (base_label := self.base_labels[label]) is not None:
                brackets.append((start, stop, base_label))
                places.append(place)
        return brackets, places

    def _match(self, gold: list[Bracket], predicted: list[Bracket]) -> tuple[list[int], list[int]]:
        """The gold brackets that are missing, and the predicted ones that are spurious.

        A gold bracket takes the first of those over its words that have its label or an equal one, and are free.
        """
        if not self.labeled:
            gold, predicted = ([(start, stop, "") for start, stop, _ in brackets] for brackets in (gold, predicted))
        free = defaultdict[Bracket, list[int]](list)  # the first of them last
        for place in reversed(range(len(predicted))):
            free[predicted[place]].append(place)
        missing, spurious = list[int](), set(range(len(predicted)))
        for place, bracket in enumerate(gold):
            queue = free.get(bracket)
            if bracket[2] in self.equal_labels:
                known = (free.get((*bracket[:2], label)) for label in self.equal_labels[bracket[2]])
                queue = min(filter(None, known), key=lambda places: places[-1], default=None)
            if queue:
                spurious.remove(queue.pop())
            else:
                missing.append(place)
        return missing, sorted(spurious)

    def _wrong_tags(self, gold: _FlatTree, predicted: _FlatTree, times: list[list[int]]) -> list[tuple[int, int]]:
        """The words that have another tag, in both trees."""
        tags, others = _repeated(gold.tags, times[0]), _repeated(predicted.tags, times[1])
        if tags == others:
            return []
        words = (_repeated(range(len(one)), one) for one in times)
        return [
            (word, counterpart)
            for tag, other, word, counterpart in zip(tags, others, *words, strict=True)
            if tag != other and other not in self.equal_labels.get(tag, ())
        ]

    def _note_brackets(
        self,
        number: int,
        flats: tuple[_FlatTree, _FlatTree],
        brackets: Sequence[list[Bracket]],
        places: Sequence[list[int]],
        wrong: tuple[list[int], list[int]],
    ) -> None:
        """Note what is missing and spurious; one of each over the same words is one label taken for another."""
        spurious = defaultdict[tuple[int, int], list[int]](list)  # by words, the first of them last
        for place in reversed(wrong[1]):
            spurious[brackets[1][place][:2]].append(place)
        taken = set[int]()
        for place in wrong[0]:
            start, stop, label = brackets[0][place]
            others = spurious.get((start, stop))
            if others:
                taken.add(others[-1])
                self._note("confused", label, brackets[1][others.pop()][2], number, flats[0], places[0][place])
            else:
                self._note("missing", label, None, number, flats[0], places[0][place])
        for place in wrong[1]:
            if place not in taken:
                self._note("spurious", None, brackets[1][place][2], number, flats[1], places[1][place])

    def _note(
        self, kind: str, gold: str | None, predicted: str | None, number: int, flat: _FlatTree, place: int
    ) -> None:
        span = flat.firsts[place], flat.ends[place]
        self.mistakes.append(MistakePlace(kind, gold, predicted, number, flat.words, *span))


def _partners(pairs: Sequence[Pair]) -> dict[str, set[str]]:
    """For each that is equal to another: itself and those that it is equal to, which need not be so to each other."""
    found = dict[str, set[str]]()
    for one, other in pairs:
        found.setdefault(one, {one}).add(other)
        found.setdefault(other, {other}).add(one)
    return found


def _repeated(values: Sequence[Any], times: list[int]) -> list[Any]:
    return [value for value, n in zip(values, times, strict=True) for _ in range(n)]


def _count_crossing(gold: list[Bracket], spans: list[tuple[int, int]]) -> int:
    """How many of some predicted spans cross a gold bracket.

    A gold bracket that crosses a span has one of its two ends inside. Of those that have an end inside, the smallest
    reaches out of the span the least: only this one can end before the other end.
    """
    starts, stops = dict[int, int](), dict[int, int]()  # of the smallest gold bracket around each end of a span
    stack, upcoming = list[Bracket](), 0
    for end in sorted({end for span in spans for end in span}):
        while upcoming < len(gold) and gold[upcoming][0] < end:
            stack.append(gold[upcoming])
            upcoming += 1
        while stack and stack[-1][1] <= end:
            stack.pop()
        if stack:
            starts[end], stops[end], _ = stack[-1]
    return sum(stops.get(start, stop) < stop or starts.get(stop, start) > start for start, stop in spans)
