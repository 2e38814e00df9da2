"""`SpellingCorrector`: words that were misspelt, by the context that a language model knows."""

import itertools
import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from fastlin.channel.dictionary import Dictionary, dictionary_model, unigrams_of
from fastlin.channel.spelling_lattice import FLOOR, STAYS, CandidateFinder, EditLimits, decode
from fastlin.channel.spelling_texts import lines_of, pairs_of
from fastlin.channel.substring_rules import SubstringRules, learn_rules, uniform_rules
from fastlin.channel.text_words import TOKENS, as_sentence, folded, is_word, written
from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.engine.channel.corrections import MOST, Corrections
from fastlin.engine.channel.deletes_index import MOST_EDITS
from fastlin.engine.channel.word_lattice import MOST_BEAM
from fastlin.lm.base import LanguageModel
from fastlin.lm.ngram import HIGHEST, NgramModel, NgramState
from fastlin.lm.sentences import ReadsSentences
from fastlin.lm.smoothing import SMOOTHINGS
from fastlin.lm.vocabulary import MARKS, UNKNOWN
from fastlin.runtime.made_once import FieldsOnly, made_once
from fastlin.runtime.parallel import WorkerPool
from fastlin.runtime.user_warnings import warn_user
from fastlin.validation import whole_number
from fastlin.validation.choices import Smoothing
from fastlin.validation.parameter_kinds import (
    JOBS,
    PLAIN,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
    estimator,
)

LINES = 256  # of a text that are corrected together
LONGEST = 4096  # tokens of a line that are one sentence
ORDER_OF_SPELLING = 4  # of the model of letters


@dataclass(frozen=True)
class SpellingState(FieldsOnly):
    """The learnt state: a language model, how often each of its words is meant, rules of misspelling."""

    source: LanguageModel
    log_prob: Any  # of every word of the source's vocabulary, without a context
    rules: SubstringRules
    characters: NgramModel | None

    @made_once
    def dictionary(self) -> Dictionary:
        return Dictionary.of(self.source._word_model.vocabulary.names, self.log_prob)

    @made_once
    def indices(self) -> dict[int, Any]:
        """Of each number of edits the index that was made when it was first asked for."""
        return {}


class Change(NamedTuple):
    """A word in place of what is written from `start` to before `stop`; the two may be the same."""

    start: int
    stop: int
    word: str


class SpellingCorrector(ReadsSentences, StatefulEstimator[SpellingState]):
    """A corrector of misspelt words: argmax over words of p(words) · p(what was written | words).

    A language model knows which words stand where, so that words are corrected that are words themselves. What is
    written for a word is its spelling, with a probability of 1 − `error_rate`, or something a few edits away: each
    edit as probable as every other, or, learnt from pairs, by rules of which letters are written for which, and beside
    which others (Brill and Moore 2000).

    Parameters
    ----------
    order : int
        Of the n-gram model that `fit` counts: a word is judged by the order − 1 before it, and as many behind it.
    max_edits : int
        How far a word may be from what was written: letters inserted, left out, taken for others, neighbours exchanged;
        from 0 to 3.
    min_count : int
        Words seen less often are not in the dictionary; `fit` warns when that leaves none.
    source : LanguageModel, dict, list of str, or None
        What is known of words in place of a text: a language model, such as `NgramModel.from_arpa(path)`, counts of
        words, or words alone.
    error_rate : float
        p that a word is misspelt.
    edit_probability : float
        p of an edit that no rule knows.
    real_word_edits : int
        How far what is itself in the dictionary may be from what was meant.
    source_weight : float
        The power of p(words).
    n_candidates : int
        How many words are kept for each that was written, besides itself.
    beam : int
        How many states of the language model are kept after each word.
    smoothing : str
        Of the n-gram model, as NgramModel has it.
    n_jobs : int or None
        Threads; they change no answer.

    Attributes
    ----------
    source_ : LanguageModel
        The language model.
    words_ : list of str
        The dictionary, the most frequent words first, in lower case.
    n_rules_ : int
        Rules that were learnt from pairs.

    Notes
    -----
    Distances are those of optimal string alignment (restricted Damerau-Levenshtein): no letter takes part in two edits.
    A text keeps every byte that is no misspelt word: white space, punctuation, numbers, addresses, words with capitals
    inside. Capitals stay where they were: at the beginning, or everywhere.

    Examples
    --------
    >>> from fastlin.channel import SpellingCorrector
    >>> text = ["I drink a cup of coffee", "a piece of cake and a cup of tea", "this is his cap"] * 3
    >>> model = SpellingCorrector(smoothing="witten_bell", min_count=1, error_rate=0.5, edit_probability=0.05).fit(text)
    >>> model.correct("A peice of caek,  a cap of TAE!")
    'A piece of cake,  a cup of TEA!'
    >>> model.suggest("caek", 1)[0][0]
    'cake'
    """

    _parameters: ClassVar[ParameterTable] = {
        "order": Integer(at_least=1, at_most=HIGHEST), "max_edits": Integer(at_least=0, at_most=MOST_EDITS),
        "min_count": Integer(at_least=1), "source": estimator("start") | PLAIN,
        "error_rate": Real(above=0, below=1), "edit_probability": Real(above=0, below=1),
        "real_word_edits": Integer(at_least=0, at_most=MOST_EDITS), "source_weight": Real(at_least=0, at_most=1e6),
        "n_candidates": Integer(at_least=1, at_most=MOST), "beam": Integer(at_least=1, at_most=MOST_BEAM),
        "smoothing": OneOf(*SMOOTHINGS), "n_jobs": JOBS,
    }  # fmt: skip

    def __init__(
        self,
        order: int = 3,
        max_edits: int = 2,
        *,
        min_count: int = 3,
        source: Any = None,
        error_rate: float = 0.05,
        edit_probability: float = 1e-3,
        real_word_edits: int = 1,
        source_weight: float = 1.0,
        n_candidates: int = 16,
        beam: int = 8,
        smoothing: Smoothing = "modified_kneser_ney",
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.max_edits = max_edits
        self.min_count = min_count
        self.source = source
        self.error_rate = error_rate
        self.edit_probability = edit_probability
        self.real_word_edits = real_word_edits
        self.source_weight = source_weight
        self.n_candidates = n_candidates
        self.beam = beam
        self.smoothing = smoothing
        self.n_jobs = n_jobs

    # --- learning ----------------------------------------------------------------------------------------------------

    @learns
    def fit(self, X: Any = None, pairs: Any = None) -> Self:
        """Learn words and their contexts from a text, and misspellings from pairs.

        Parameters
        ----------
        X : list of str, path, open file, or what `fastlin.data.read` returns
            Text as it is written. None: the parameter `source` has what is known of words.
        pairs : list of (right, wrong) or (right, wrong, times)
            Words and how they were misspelt. None: each edit is as probable as every other.

        Returns
        -------
        self
            The fitted corrector.
        """
        check_parameters(self)
        fitted = self._working_copy()
        source = self._as_source(X)
        log_edit = math.log(self.edit_probability)
        rules = uniform_rules(log_edit) if pairs is None else learn_rules(pairs_of(pairs), log_edit)
        log_prob = unigrams_of(source)
        words = Dictionary.of(source._word_model.vocabulary.names, log_prob).forms
        if not words:
            warn_user(self._describe_no_words(source))
        characters = NgramModel(ORDER_OF_SPELLING, "witten_bell", unit="character").fit(words) if words else None
        fitted._state_of_fit = SpellingState(source, log_prob, rules, characters)
        return self._take_fitted(fitted)

    def _as_source(self, X: Any) -> LanguageModel:
        """The language model of a text, or of the parameter."""
        if self.source is None:
            if X is None:
                raise ValueError("X must be a text to learn from, as there is no source; got None")
            sentences = (as_sentence(line) for line in lines_of(X))
            return NgramModel(
                self.order, self.smoothing, min_count=self.min_count, n_jobs=self.n_jobs
            ).fit(sentences)  # fmt: skip
        if X is not None:
            raise ValueError("X must be None where there is a source, which has what is known of words")
        if isinstance(self.source, LanguageModel):
            if self.source._reader().unit != "word":
                raise ValueError("source must be a model of words, got one of characters")
            return self.source._working_copy()
        if isinstance(self.source, str | bytes) or not isinstance(self.source, Mapping | Sequence):
            raise TypeError(f"source must be a language model, a dict or a list of words, got {self.source!r:.60}")
        return dictionary_model(self.source)

    def _describe_no_words(self, source: LanguageModel) -> str:
        """Why the dictionary is empty."""
        learnt = source.__dict__.get("_state_of_fit")
        seen = learnt.seen.names[MARKS:] if self.source is None and isinstance(learnt, NgramState) else []
        n_words = sum(is_word(folded(name)) for name in seen)
        if not n_words:
            origin = "X" if self.source is None else "source"
            return f"{origin} holds no words: the dictionary is empty, and no text will be corrected"
        return (
            f"min_count={self.min_count} leaves out all {n_words:,} words of X: the dictionary is empty, and no text "
            "will be corrected; give a lower min_count, or more text"
        )

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    @reads
    def source_(self) -> LanguageModel:
        """The language model."""
        return self._learnt.source

    @property
    @reads
    def words_(self) -> list[str]:
        """The dictionary, the most frequent words first."""
        return list(dict.fromkeys(self._learnt.dictionary.forms))

    @property
    @reads
    def n_rules_(self) -> int:
        """Rules that were learnt from pairs."""
        return len(self._learnt.rules)

    def _finder(self) -> CandidateFinder:
        check_parameters(self)
        learnt = self._learnt
        index = learnt.indices.get(self.max_edits)
        if index is None:
            index = learnt.indices.setdefault(self.max_edits, learnt.dictionary.index(int(self.max_edits)))
        log_right, weight = math.log1p(-self.error_rate), float(self.source_weight)
        corrections = Corrections(
            index, learnt.rules.kernel(secrets.randbits(64)), learnt.dictionary.log_prior, weight, log_right,
            math.log(self.error_rate),
        )  # fmt: skip
        limits = EditLimits(int(self.max_edits), min(int(self.real_word_edits), int(self.max_edits)))
        return CandidateFinder(
            learnt.source, learnt.dictionary, corrections, learnt.characters, limits, weight, log_right
        )

    # --- texts -------------------------------------------------------------------------------------------------------

    @reads
    def correct(self, text: str) -> str:
        """A text with its misspelt words corrected, by their contexts; a line is a sentence. All else is as it was.

        Parameters
        ----------
        text : str
            Text as it is written, of one line or many.

        Returns
        -------
        str
            The text, with other words in the places of those that were misspelt.
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a string, got {text!r:.60}")
        return "".join(self._corrected(text.splitlines(keepends=True)))

    @reads
    def predict(self, X: Iterable[str]) -> list[str]:
        """`correct` of each of some texts.

        Parameters
        ----------
        X : iterable of str
            Texts, each of one line or many.

        Returns
        -------
        list of str
            A corrected text for each.
        """
        if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
            raise TypeError(f"X must be a list of texts, got {X!r:.60}")
        texts = list(X)
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"X[{place}] must be a string, got {text!r:.60}")
        lines = [text.splitlines(keepends=True) for text in texts]
        corrected = self._corrected(list(itertools.chain.from_iterable(lines)))
        return ["".join(itertools.islice(corrected, len(of_text))) for of_text in lines]

    def _corrected(self, lines: list[str]) -> Iterator[str]:
        """Lines with other words in place of those that were misspelt."""
        for line, changes in zip(lines, self._changes(lines), strict=True):
            parts, end = [], 0
            for one in changes:
                parts += [line[end : one.start], one.word]
                end = one.stop
            yield "".join([*parts, line[end:]])

    def _changes(self, lines: list[str]) -> Iterator[list[Change]]:
        """What is to be changed in each line, some lines at a time."""
        finder = self._finder()
        search = ContextSearch(finder, int(self.n_candidates), int(self.beam))
        jobs = [(lines[first : first + LINES],) for first in range(0, len(lines), LINES)]
        with WorkerPool(self.n_jobs) as workers:
            for some in workers.map(search.changes, jobs):
                yield from some

    # --- words -------------------------------------------------------------------------------------------------------

    @reads
    def correct_word(self, word: str) -> str:
        """A word alone, corrected: the first of `suggest`, or the word itself where that is better.

        Parameters
        ----------
        word : str
            A word without a context.

        Returns
        -------
        str
            The most probable word.
        """
        return self._correct_words([word])[0]

    @reads
    def correct_words(self, words: Sequence[str]) -> list[str]:
        """`correct_word` of each of some words.

        Parameters
        ----------
        words : sequence of str
            Words, each without a context.

        Returns
        -------
        list of str
            The most probable word for each.
        """
        if isinstance(words, str | bytes):
            raise TypeError(f"words must be a list of words, got {words!r:.60}")
        return self._correct_words(list(words))

    def _correct_words(self, words: list[str]) -> list[str]:
        found = self._suggested(words, 1)
        return [best[0][0] if best else word for word, best in zip(words, found, strict=True)]

    @reads
    def suggest(self, word: str, n: int = 5) -> list[tuple[str, float]]:
        """What a word alone may stand for, best first, the word itself included: at most n (word, ln p) pairs.

        ln p is that of the word and of what was written for it, the former weighed by `source_weight`.

        Parameters
        ----------
        word : str
            A word without a context.
        n : int
            Suggestions at most.

        Returns
        -------
        list of (str, float)
            Words with source_weight · ln p(word) + ln p(written | word), falling.
        """
        return self._suggested([word], whole_number("n", n, 1))[0]

    def _suggested(self, words: list[str], n: int) -> list[list[tuple[str, float]]]:
        for word in words:
            if not isinstance(word, str):
                raise TypeError(f"word must be a string, got {word!r:.60}")
            if len(word.split()) > 1:
                raise ValueError(f"word must be one word, got {word!r:.60}; `correct` takes texts of several")
        learnt, finder = self._learnt, self._finder()
        distinct = list(dict.fromkeys(words))
        found = finder.find(distinct, 1 if n == 1 else int(self.n_candidates))
        prior = np.maximum(learnt.log_prob[np.where(found.entries == STAYS, UNKNOWN, found.numbers)], FLOOR)
        scores = float(self.source_weight) * prior + found.log_prob
        forms, by_word = learnt.dictionary.forms, {}
        for place, word in enumerate(distinct):
            inside = np.arange(found.starts[place], found.starts[place + 1])
            inside = inside[np.argsort(-scores[inside], kind="stable")]
            best: dict[str, float] = {}
            for i in inside.tolist():
                entry = int(found.entries[i])
                best.setdefault(_replaced(word, None if entry == STAYS else forms[entry]), float(scores[i]))
            by_word[word] = list(itertools.islice(best.items(), n))
        return [list(by_word[word]) for word in words]


def _replaced(token: str, form: str | None) -> str:
    """A token, with another word in its place unless that is itself."""
    return token if form is None or form == folded(token) else written(form, token)


@dataclass(frozen=True)
class ContextSearch:
    """The words that are best in their context."""

    finder: CandidateFinder
    n_candidates: int
    beam: int

    def changes(self, lines: list[str]) -> list[list[Change]]:
        """The best words in place of those of each line that others are better than."""
        finder, forms = self.finder, self.finder.dictionary.forms
        found = [list(TOKENS.finditer(line)) for line in lines]
        numbers: dict[str, int] = {}
        tokens = [[numbers.setdefault(one.group(), len(numbers)) for one in of_line] for of_line in found]
        candidates = finder.find(list(numbers), self.n_candidates)
        rows = [row[first : first + LONGEST] for row in tokens for first in range(0, len(row), LONGEST)]
        chosen = itertools.chain.from_iterable(decode(finder.source, rows, candidates, finder.source_weight, self.beam))
        entries = candidates.entries.tolist()
        return [
            [
                Change(one.start(), one.end(), _replaced(one.group(), forms[entry]))
                for one, place in zip(of_line, chosen, strict=False)
                if (entry := entries[place]) != STAYS
            ]
            for of_line in found
        ]
