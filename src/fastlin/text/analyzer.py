"""Analysis of texts: from parameters to a specification for the engine, or to Python functions that do the same.

The engine knows runs of word characters, runs of visible characters, patterns that have an automaton, and n-grams; a
user's tokenizer or analyzer, and other patterns, go the way of `build_analyzer`, a Python object a token.
"""

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text import vectorizer
from fastlin.runtime.user_warnings import warn_user
from fastlin.text.document_blocks import decode_document
from fastlin.text.negation import CLAUSE_ENDS, NEGATION_PREFIX, NEGATORS, TOKEN_PATTERN, mark_negation, marked_words
from fastlin.text.token_automaton import automaton_of
from fastlin.text.token_strings import encoded
from fastlin.validation import one_of, whole_number
from fastlin.validation.parameter_kinds import (
    ABSENT,
    FLAG,
    JOBS,
    Checked,
    Integer,
    ParameterTable,
    check_parameters,
    sequence_of,
)

ACCENTS = None, "ascii", "unicode"
UNITS = {"word": vectorizer.WORDS, "char": vectorizer.CHARACTERS, "char_wb": vectorizer.IN_WORDS}
MAX_NGRAM_WORDS = 1000  # words of an n-gram that the engine puts together
MAX_NGRAM_CHARACTERS = 2**30  # characters
# a run of word characters, whole: of at least so many, perhaps not after a digit; or a run of what is no white space
RUN = re.compile(
    r"(?:\(\?u\))?(?P<edge>\\b)?(?P<letter>\[\^\\W\\d\])?(?P<some>(?:\\w)*)(?P<end>\\w[+*]|\\w\{\d+,\})(?:\\b)?"
)
VISIBLE = re.compile(r"(?:\(\?u\))?(?P<some>(?:\\S)*)(?:\\S|\[\^\\s\])\+")


@dataclass(frozen=True)
class Token:
    """Which runs of characters are tokens; or by which pattern an automaton finds them."""

    member: int = vectorizer.WORD
    least: int = 2
    letter_first: bool = False
    pattern: str | None = None


@functools.cache
def token_of(pattern: str) -> Token | None:
    """The tokens of a pattern, if the engine knows how to find them."""
    if found := VISIBLE.fullmatch(pattern):
        return Token(vectorizer.VISIBLE, len(found["some"]) // 2 + 1)
    found = RUN.fullmatch(pattern)
    if found is None or (found["letter"] and not found["edge"]):
        automaton = automaton_of(pattern)
        return None if automaton is None else Token(least=automaton.shortest_run, pattern=pattern)
    least = len(found["some"]) // 2 + bool(found["letter"])
    end = found["end"]
    least += int(end[3:-2]) if "{" in end else end == r"\w+"
    return Token(least=least, letter_first=bool(found["letter"])) if 1 <= least < 2**31 else None


@functools.cache
def alphabet(fold: bool) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    kinds, lower = vectorizer.character_tables(fold, "".join(sorted(CLAUSE_ENDS)))
    return kinds, lower


@functools.lru_cache(16)
def automaton_arrays(pattern: str, fold: bool) -> tuple[Any, ...]:
    """The automaton of a pattern that has one, as the engine takes it."""
    automaton = automaton_of(pattern)
    assert automaton is not None
    classes = automaton.classes[alphabet(fold)[1]]
    return (
        classes,
        automaton.classes,
        automaton.transitions,
        automaton.starts,
        automaton.words,
        automaton.shortest_run > 0,
    )


@dataclass(frozen=True)
class TokenizerSpec:
    """The specification of what the engine makes of a text: n-grams of which tokens, and their affixes."""

    unit: int
    ngrams: tuple[int, int]
    fold: bool
    token: Token
    negation: bool
    prefixes: tuple[int, ...]
    suffixes: tuple[int, ...]

    def reader(self) -> Any:
        """Scratch memory for one thread."""
        reader = vectorizer.DocumentReader(
            self.unit,
            *self.ngrams,
            alphabet(self.fold),
            self.fold,
            self.token.member,
            self.token.least,
            self.token.letter_first,
            negators() if self.negation else None,
            np.array(self.prefixes, np.int32),
            np.array(self.suffixes, np.int32),
        )
        if self.token.pattern is not None:
            reader.use_automaton(*automaton_arrays(self.token.pattern, self.fold))
        return reader


@functools.cache
def negators() -> Any:
    vocabulary = vectorizer.NgramVocabulary(0)
    vocabulary.add_strings(*encoded(sorted(NEGATORS)))
    return vocabulary


def as_lengths(name: str, value: Any) -> tuple[int, ...]:
    """None, a length or several, as a tuple without repetitions."""
    if value is None:
        return ()
    values = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(sorted({min(whole_number(name, length, 1), 2**31 - 1) for length in values}))


LENGTHS = Checked(Integer(at_least=1) | sequence_of(Integer(at_least=1), "lengths from 1") | ABSENT, as_lengths)
WORDS: ParameterTable = {"negation": FLAG, "prefixes": LENGTHS, "suffixes": LENGTHS, "n_jobs": JOBS}


class AnalyzerMixin:
    """The parameters that the text vectorisers share."""

    input: str
    encoding: str
    decode_error: str
    strip_accents: Any
    lowercase: bool
    preprocessor: Callable[[Any], str] | None
    tokenizer: Callable[[str], Iterable[Any]] | None
    stop_words: Any
    token_pattern: str | None
    ngram_range: tuple[int, int]
    analyzer: Any
    negation: bool
    prefixes: Any
    suffixes: Any

    def decode(self, doc: Any) -> Any:
        """Read a document that is a file, and decode bytes.

        Parameters
        ----------
        doc : str, bytes, file or name of a file
            As `input` says.

        Returns
        -------
        str
        """
        return decode_document(doc, self.input, self.encoding, self.decode_error)

    def build_preprocessor(self) -> Callable[[Any], Any]:
        """The function from a decoded document to the text that is cut into tokens.

        Returns
        -------
        callable(str)
            Returns a string: without accents and in lower case, as the parameters say.
        """
        if self.preprocessor is not None:
            return self.preprocessor
        accents = self.strip_accents
        if not callable(accents) and self._one_of("strip_accents", ACCENTS) is not None:
            accents = getattr(_sklearn_text(), f"strip_accents_{accents}")
        if not self.lowercase:
            return accents or _same
        return _lower if accents is None else functools.partial(_lower_then, accents)

    def build_tokenizer(self) -> Callable[[str], Iterable[Any]]:
        """The function from a text to its tokens.

        Returns
        -------
        callable(str)
            Returns the tokens, in their order.
        """
        if self.tokenizer is not None:
            return self.tokenizer
        if not isinstance(self.token_pattern, str):
            raise TypeError(f"token_pattern must be a regular expression, got {self.token_pattern!r}")
        try:
            pattern = re.compile(self.token_pattern)
        except re.error as error:
            raise ValueError(f"token_pattern={self.token_pattern!r} is no regular expression: {error}") from error
        if pattern.groups > 1:
            raise ValueError(
                f"token_pattern={self.token_pattern!r} has {pattern.groups} groups. "
                "More than 1 capturing group in token pattern: write (?:...) for all but the one that is the token"
            )
        return pattern.findall

    def get_stop_words(self) -> frozenset[Any] | None:
        """The words that are left out.

        Returns
        -------
        frozenset of str, or None
            None: no word is left out.
        """
        if self.stop_words is None or self.stop_words == "english":
            return None if self.stop_words is None else _sklearn_text().ENGLISH_STOP_WORDS
        if isinstance(self.stop_words, str) or not isinstance(self.stop_words, Iterable):
            raise ValueError(
                f"stop_words={self.stop_words!r:.60} is not a built-in stop list: give 'english', or a list of words"
            )
        return frozenset(self.stop_words)

    def build_analyzer(self) -> Callable[[Any], Iterable[Any]]:
        """The function from a document, as it is given, to its features, each as often as it occurs.

        Returns
        -------
        callable(document)
            Returns the features, in their order: words or characters, and n-grams of them.
        """
        if callable(self.analyzer):
            return functools.partial(_decoded_then, self.decode, self.analyzer)
        low, high = self._ngrams()
        preprocess = self.build_preprocessor()
        if self._one_of("analyzer", UNITS) != "word":
            cut = _characters if self.analyzer == "char" else _characters_in_words
            return functools.partial(_decoded_then, self.decode, functools.partial(_cut, cut, preprocess, low, high))
        tokenize, stop_words = self.build_tokenizer(), self.get_stop_words()
        self._check_stop_words(stop_words, preprocess, tokenize)
        prefixes, suffixes = as_lengths("prefixes", self.prefixes), as_lengths("suffixes", self.suffixes)

        features = functools.partial(self._features, preprocess, tokenize, stop_words, (low, high), prefixes, suffixes)
        return functools.partial(_decoded_then, self.decode, features)

    def _features(
        self,
        preprocess: Callable[[Any], Any],
        tokenize: Callable[[Any], Iterable[Any]],
        stop_words: frozenset[Any] | None,
        ngrams: tuple[int, int],
        prefixes: tuple[int, ...],
        suffixes: tuple[int, ...],
        text: Any,
    ) -> list[Any]:
        """The words of a text, their n-grams and their affixes."""
        words = list(self._words(preprocess(text), tokenize))
        words = words if stop_words is None else [word for word in words if word not in stop_words]
        if not prefixes and not suffixes:
            return _series(words, *ngrams)
        return _series(words, *ngrams) + _affixes(map(bare_word, words) if self.negation else words, prefixes, suffixes)

    def _words(self, text: Any, tokenize: Callable[[str], Iterable[Any]]) -> Iterable[Any]:
        if not self.negation:
            return tokenize(text)
        if self.tokenizer is not None:
            return mark_negation(list(tokenize(text)))
        return marked_words(text, self.token_pattern or TOKEN_PATTERN)

    def _one_of(self, name: str, options: Iterable[Any]) -> Any:
        return one_of(name, getattr(self, name), options)

    def _ngrams(self) -> tuple[int, int]:
        value = self.ngram_range
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise ValueError(f"Invalid value for ngram_range={value!r}: two whole numbers, (shortest, longest)")
        for n in value:
            if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
                raise ValueError(f"Invalid value for ngram_range={value!r}: {n!r} is no whole number of at least 1")
        low, high = map(int, value)
        if low > high:
            raise ValueError(f"Invalid value for ngram_range={value!r} lower boundary larger than the upper boundary.")
        return low, high

    def _check_analysis(self) -> None:
        """Refuse parameters that mean nothing, and warn of those that are not used."""
        check_parameters(self)
        if not isinstance(self.encoding, str):
            raise TypeError(f"encoding must be the name of an encoding, got {self.encoding!r}")
        self._ngrams()
        self.get_stop_words()

    def _warn_of_unused(self) -> None:
        words, given = self.analyzer == "word", callable(self.analyzer)
        unused = {
            "token_pattern": (self.tokenizer is not None and self.token_pattern is not None, "'tokenizer' is not None"),
            "preprocessor": (self.preprocessor is not None and given, "'analyzer' is callable"),
            "ngram_range": (given and tuple(self._ngrams()) != (1, 1), "'analyzer' is callable"),
            "stop_words": (self.stop_words is not None and not words, "'analyzer' != 'word'"),
            "tokenizer": (self.tokenizer is not None and not words, "'analyzer' != 'word'"),
            "negation": (bool(self.negation) and not words, "'analyzer' != 'word'"),
            "prefixes": (self.prefixes is not None and not words, "'analyzer' != 'word'"),
            "suffixes": (self.suffixes is not None and not words, "'analyzer' != 'word'"),
        }
        if not words and self.token_pattern not in (None, TOKEN_PATTERN):
            unused["token_pattern"] = (True, "'analyzer' != 'word'")
        for name, (is_unused, reason) in unused.items():
            if is_unused:
                warn_user(f"The parameter '{name}' will not be used since {reason}")

    def _check_stop_words(self, stop_words: Any, preprocess: Any, tokenize: Any) -> None:
        """Warn, once for each list, of stop words that become others before they are compared."""
        if not stop_words or getattr(self, "_checked_stop_words", None) is self.stop_words:
            return
        try:
            found = {token for word in stop_words for token in tokenize(preprocess(word))} - set(stop_words)
        except Exception:  # a tokenizer may refuse what no document holds
            found = set()
        self._checked_stop_words = self.stop_words
        if found:
            warn_user(
                "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words generated "
                f"tokens {sorted(found)!r} not in stop_words."
            )

    def _note_stop_words(self) -> None:
        """Check the stop words on the estimator itself, which remembers the list: its views forget."""
        known = getattr(self, "_checked_stop_words", None)
        if self.stop_words is not known and self.analyzer == "word":
            self._check_stop_words(self.get_stop_words(), self.build_preprocessor(), self.build_tokenizer())

    def _tokenizer_spec(self) -> TokenizerSpec | None:
        """The parameters as the engine takes them; None: it cannot do what they ask for."""
        if callable(self.analyzer) or (self.analyzer == "word" and self.tokenizer is not None):
            return None
        if self._overrides("build_analyzer") or self._overrides("build_tokenizer"):
            return None
        token = Token(vectorizer.VISIBLE, 1)
        low, high = self._ngrams()
        if self.analyzer == "word":
            tokenize, known = self.build_tokenizer(), token_of(self.token_pattern or "")
            if known is None or high > MAX_NGRAM_WORDS or (self.negation and known.pattern is not None):
                return None
            self._check_stop_words(self.get_stop_words(), self.build_preprocessor(), tokenize)
            token = known
        return TokenizerSpec(
            UNITS[self.analyzer],
            (min(low, MAX_NGRAM_CHARACTERS), min(high, MAX_NGRAM_CHARACTERS)),
            bool(self.lowercase) and not self._own_preprocessor() and self.strip_accents is None,
            token,
            bool(self.negation) and self.analyzer == "word",
            as_lengths("prefixes", self.prefixes) if self.analyzer == "word" else (),
            as_lengths("suffixes", self.suffixes) if self.analyzer == "word" else (),
        )

    def _text_of(self, spec: TokenizerSpec) -> Callable[[Any], str]:
        """The function from a document to the string that the engine reads."""
        given = self._is_given_texts()
        preprocess = None if self._needs_no_preprocessor(spec) else self.build_preprocessor()

        def text_of(document: Any) -> str:
            if type(document) is not str or not given:
                document = self.decode(document)
                document = str.__str__(document) if isinstance(document, str) else document  # not of a subclass
            if preprocess is not None:
                document = preprocess(document)
            if not isinstance(document, str):
                raise TypeError(f"expected a string or bytes, got {type(document).__name__}: {document!r:.50}")
            # the two whose lower case is not one character, the same everywhere
            if spec.fold and not document.isascii() and ("\u0130" in document or "\u03a3" in document):
                return document.lower()
            return document

        return text_of

    def _is_given_texts(self) -> bool:
        """Whether documents that are strings are texts already."""
        return self.input == "content" and not self._overrides("decode")

    def _needs_no_preprocessor(self, spec: TokenizerSpec) -> bool:
        """Whether the engine does all that there is to do before tokens are found."""
        return spec.fold or not (self.lowercase or self._own_preprocessor() or self.strip_accents is not None)

    def _reads_ascii_as_it_is(self, spec: TokenizerSpec) -> bool:
        """Whether the engine reads strings of ASCII as they are given."""
        return self._is_given_texts() and self._needs_no_preprocessor(spec)

    def _overrides(self, method: str) -> bool:
        """Whether a subclass, or this object, has a method of its own."""
        return method in vars(self) or getattr(type(self), method) is not getattr(AnalyzerMixin, method)

    def _own_preprocessor(self) -> bool:
        return self.preprocessor is not None or self._overrides("build_preprocessor")


def _sklearn_text() -> Any:
    """Its module of vectorisers: imported by those who ask, as it imports scipy.stats."""
    import sklearn.feature_extraction.text as sklearn_text

    return sklearn_text


def _same(text: Any) -> Any:
    return text


def _lower(text: Any) -> Any:
    return text.lower()


def _lower_then(accents: Callable[[str], str], text: Any) -> str:
    return accents(text.lower())


def _decoded_then(
    decode: Callable[[Any], Any], analyse: Callable[[Any], Iterable[Any]], document: Any
) -> Iterable[Any]:
    return analyse(decode(document))


def _cut(cut: Callable[..., list[str]], preprocess: Callable[[Any], str], low: int, high: int, text: Any) -> list[str]:
    return cut(preprocess(text), low, high)


def _series(words: list[Any], low: int, high: int) -> list[Any]:
    """Words, then pairs of them, then triples; with low = 1 the words are what the tokenizer gave, of any type."""
    found = list(words) if low == 1 else []
    for n in range(max(low, 2), min(high, len(words)) + 1):
        found += [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
    return found


def bare_word(word: str) -> str:
    """The word without the mark of a negation."""
    return word.removeprefix(NEGATION_PREFIX) or word


def _affixes(words: Iterable[str], prefixes: tuple[int, ...], suffixes: tuple[int, ...]) -> list[str]:
    words = list(words)
    found = [f"{word[:n]}-" for word in words for n in prefixes if len(word) > n]
    return found + [f"-{word[-n:]}" for word in words for n in suffixes if len(word) > n]


def _characters(text: str, low: int, high: int) -> list[str]:
    text = re.sub(r"\s\s+", " ", text)
    return [text[i : i + n] for n in range(low, min(high, len(text)) + 1) for i in range(len(text) - n + 1)]


def _characters_in_words(text: str, low: int, high: int) -> list[str]:
    found = []
    for word in text.split():
        padded = f" {word} "
        for n in range(low, high + 1):
            found += [padded[i : i + n] for i in range(max(len(padded) - n, 0) + 1)]
            if n >= len(padded):
                break
    return found
