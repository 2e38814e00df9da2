"""The base of language models: log p of sentences, perplexity, the next word, samples, states for decoders."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.estimator import Estimator, reads
from fastlin.lm.backoff import BackoffModel, StateNodes
from fastlin.lm.sentences import ReadsSentences, SentenceReader
from fastlin.lm.vocabulary import BEGIN, BEGIN_NAME, END, END_NAME, MARKS, UNKNOWN, WordVocabulary, look_up, marks
from fastlin.lm.word_model import WordModel
from fastlin.validation.choices import Unit
from fastlin.validation.parameters import as_generator, one_of, real_number, whole_number

BITS = math.log(2)
LONGEST_SAMPLE = 1000  # words
MARKS_OF_SENTENCES = (BEGIN_NAME, END_NAME)


class State(tuple[int, ...]):
    """The part of the words so far that a model depends on: equal states have equal futures. Hashable, and small.

    Its first number says of which model it is; what the others are is the model's business.

    Parameters
    ----------
    iterable : iterable of int
        Numbers.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"State{tuple(self)}"


class Surprisals(NamedTuple):
    """Bits of each word of some sentences, flat, each sentence's last for its end; and how many words each has."""

    bits: NDArray[np.float64]
    lengths: NDArray[np.int64]


class _Events(NamedTuple):
    """Every word and end of some sentences."""

    log_prob: NDArray[np.float64]
    ends: NDArray[np.bool_]
    unknown: NDArray[np.bool_]


class LanguageModel(ReadsSentences, Estimator, ABC):
    """A language model: log p of sentences and all that follows from the probabilities of words."""

    @property
    @abstractmethod
    def _word_model(self) -> WordModel:
        """The model as it was learnt; NotFittedError: there is none."""

    @abstractmethod
    def _reader(self) -> SentenceReader:
        """How it reads sentences."""

    # --- what there is -----------------------------------------------------------------------------------------------

    @property
    @reads
    def words_(self) -> list[str]:
        """All words that may come next, the end of a sentence and the unknown word first."""
        return self._word_model.vocabulary.names[1:]

    # --- texts -------------------------------------------------------------------------------------------------------

    def _blocks(self, X: Any) -> Iterator[NDArray[np.int32]]:
        return self._reader().blocks(X, self._word_model.vocabulary.table, False)

    def _scored(self, X: Any) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """Blocks of whole sentences, and ln p of each of their words."""
        model = self._word_model
        for tokens in self._blocks(X):
            yield tokens, model.score(tokens)[0]

    def _sentence_sums(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """ln p of the sentences of each block."""
        for tokens, log_prob in self._scored(X):
            yield sentence_sums(tokens, log_prob)

    def _events(self, X: Any) -> Iterator[_Events]:
        for tokens, log_prob in self._scored(X):
            inside = tokens != BEGIN
            yield _Events(log_prob[inside], tokens[inside] == END, tokens[inside] == UNKNOWN)

    @reads
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """ln p of each sentence, its end included.

        Parameters
        ----------
        X : list of sentences, path or open file
            A sentence is a string, split at white space (or into characters, if that is the model's unit), or a list of
            words. Files hold a sentence a line.

        Returns
        -------
        ndarray of float64, shape (n_sentences,)
        """
        found = list(self._sentence_sums(X))
        return np.concatenate(found) if found else np.empty(0)

    @reads
    def score(self, X: Any, y: Any = None) -> float:
        """Mean ln p of a word, ends of sentences included: higher is better. `y` is ignored.

        Parameters
        ----------
        X : list of sentences, path or open file
            What `fit` takes.
        y : None
            Ignored.

        Returns
        -------
        float
            Nats a word, at most 0; −∞ if one word is impossible.
        """
        del y
        total, n = _mean(self._events(X), end=True, oov=True)
        return total / n

    @reads
    def tokens(self, sentence: str | Sequence[str]) -> list[str]:
        """The words of a sentence as the model reads it, without marks that it leaves out.

        Parameters
        ----------
        sentence : str or sequence of str
            A string is cut as the model's `unit` says.

        Returns
        -------
        list of str
            In their order, as they are written.
        """
        reader, words = self._reader(), self._words("sentence", sentence)
        return [word for word in words if word not in MARKS_OF_SENTENCES] if reader.keep_marks else words

    @reads
    def surprisal(self, X: Any) -> Surprisals:
        """−log₂ p of each word and of each sentence's end: `bits`, flat, and `lengths`, how many each sentence has.

        Words are in the order in which one reads them, of backward models, too.

        Parameters
        ----------
        X : list of sentences, path or open file
            What `fit` takes.

        Returns
        -------
        Surprisals
            `bits` of shape (n_words + n_sentences,) and `lengths` of shape (n_sentences,), which sum up to as many.
        """
        bits, lengths = [], []
        for events in self._events(X):
            ends = np.flatnonzero(events.ends)
            lengths.append(np.diff(ends, prepend=-1))
            bits.append(-events.log_prob / BITS)
            if self._reader().backward:
                bits[-1] = bits[-1][_turned(ends)]
        if not bits:
            return Surprisals(np.empty(0), np.empty(0, np.int64))
        return Surprisals(np.concatenate(bits), np.concatenate(lengths).astype(np.int64))

    @reads
    def perplexity(self, X: Any, *, end: bool = True, oov: bool = True) -> float:
        """exp of the mean −ln p of a word.

        Parameters
        ----------
        X : list of sentences, path or open file
        end : bool
            Whether the end of a sentence is a word that is predicted, as KenLM and SRILM's `ppl` have it.
        oov : bool
            Whether unknown words count. Without them they remain in the contexts of others, as in SRILM.

        Returns
        -------
        float
            From 1 on; infinite if a word is impossible.
        """
        total, n = _mean(self._events(X), end, oov)
        return float(np.exp(-total / n))

    @reads
    def entropy(self, X: Any, per: Unit = "word", *, end: bool = True, oov: bool = True) -> float:
        """Cross-entropy of a text under the model, in bits a word or a character.

        Characters of words are counted with one for what follows each word, a space or a line's end; if the model's
        unit is the character, both are the same.

        Parameters
        ----------
        X : list of sentences, path or open file
            What `fit` takes.
        per : {"word", "character"}
            Of what the bits are a mean.
        end : bool
            Whether the end of a sentence is a word that is predicted.
        oov : bool
            Whether unknown words count.

        Returns
        -------
        float
            Bits, from 0 on.
        """
        per = one_of("per", per, ["word", "character"])
        total, n = _mean(self._events(X), end, oov)
        if per == "character" and self._reader().unit == "word":
            n = self._n_characters(X)
        return -total / n / BITS

    def _n_characters(self, X: Any) -> int:
        """Characters of the words of X, unknown ones included, and one for each word and each end of a sentence."""
        table = WordVocabulary.of(marks(None)).new_table()
        reader, n = self._reader(), 0
        counts = np.zeros(0, np.int64)
        for tokens in reader.blocks(X, table, True):
            found = np.bincount(tokens, minlength=len(counts))
            found[: len(counts)] += counts
            counts = found
        names = WordVocabulary.of_table(table).names
        for number in range(MARKS, len(counts)):
            n += int(counts[number]) * (len(names[number]) + 1)
        return n + int(counts[END]) if len(counts) else 0

    @reads
    def cross_entropy(self, X: Any) -> float:
        """−Σ ln p / n over words and ends of sentences, in nats: the negative of `score`.

        Parameters
        ----------
        X : list of sentences, path or open file
            What `fit` takes.

        Returns
        -------
        float
            Nats a word, from 0 on.
        """
        return -self.score(X)

    @reads
    def kl_divergence(self, other: "LanguageModel", X: Any) -> float:
        """Mean over the words of X of Σ_w p(w|h) ln p(w|h)/q(w|h), in nats, h being the words before.

        Parameters
        ----------
        other : LanguageModel
            The model q, of the same words.
        X : list of sentences, path or open file
            Where the contexts come from; their sentences' ends are predicted, too.

        Returns
        -------
        float
            Nats, from 0 on.

        Raises
        ------
        ValueError
            If the models do not know the same words.
        """
        if not isinstance(other, LanguageModel):
            raise TypeError(f"other must be a language model, got {type(other).__name__}")
        q, model = other._snapshot(), self._word_model
        theirs = q._word_model
        if sorted(q.words_) != sorted(self.words_):
            raise ValueError("other has other words: the divergence is infinite, or not defined")
        numbers = look_up(theirs.vocabulary.table, model.vocabulary.names, False)
        place = numbers[BEGIN + 1 :] - 1
        contexts: Counter[tuple[StateNodes, StateNodes]] = Counter()
        for tokens in self._blocks(X):
            contexts.update(zip(_contexts(model, tokens), _contexts(theirs, numbers[tokens]), strict=True))
        if not contexts:
            raise ValueError("X is empty: there is no context")
        total = 0.0
        for (ours, others), times in contexts.items():
            total += times * _divergence(model.next_word(ours), theirs.next_word(others)[place])
        return total / contexts.total()

    # --- the next word -----------------------------------------------------------------------------------------------

    def _words(self, name: str, given: Any) -> list[Any]:
        """The words of a string or a list, in the order in which one reads them."""
        if isinstance(given, str):
            return self._reader().words(given)
        if isinstance(given, bytes | Mapping | State) or not isinstance(given, Iterable):
            raise TypeError(f"{name} must be a string or a list of words, got {given!r:.60}")
        return list(given)

    def _number(self, word: Any) -> int:
        if not isinstance(word, str):
            raise TypeError(f"a word is a string, got {word!r:.60}")
        return self._word_model.vocabulary.numbers.get(word, UNKNOWN)

    def _numbers(self, words: Sequence[Any]) -> list[int]:
        known = self._word_model.vocabulary.numbers
        return [known[word] if type(word) is str and word in known else self._number(word) for word in words]

    def _follower(self, word: Any) -> int:
        """The number of a word that may come next."""
        number = self._number(word)
        if number == BEGIN:
            raise ValueError(f"{BEGIN_NAME} is no word that follows; `start()` is the state behind it")
        return number

    def _mark(self) -> int:
        """The first number of the states of this model."""
        model = self._word_model
        return model.mark if isinstance(model, BackoffModel) else hash((model.vocabulary.checksum, model.order))

    def _inside(self, state: Any) -> StateNodes:
        """What the model knows of a state; ValueError: it is none of this model's."""
        if not isinstance(state, tuple) or not state or state[0] != self._mark():
            raise ValueError(f"state must be one that this model returned, got {state!r:.60}, of another model or none")
        return state[1:]

    def _state(self, context: Any) -> State:
        """The state after a context: words in the order in which one reads them, or a state itself."""
        if isinstance(context, State):
            return context
        words = self._words("context", context)
        if self._reader().backward:
            words.reverse()
        begin = bool(words) and words[0] == BEGIN_NAME
        numbers = self._numbers(words[begin:])
        if BEGIN in numbers:
            raise ValueError(f"{BEGIN_NAME} stands within a context; it can only be its first word")
        model = self._word_model
        longest = model.order - 1
        after = model.state_after(numbers[-longest:] if longest else [], begin and len(numbers) < longest)
        return State((self._mark(), *after))

    @reads
    def next_word(self, context: Any = ()) -> NDArray[np.float32]:
        """p of every word after a context, in the order of `words_`.

        Parameters
        ----------
        context : str, list of words, or State
            The words before, of which the last order − 1 count; "<s>" as the first of them begins a sentence. Of a
            backward model the words that follow.

        Returns
        -------
        ndarray of float32, shape (n_words,)
            They sum to one.
        """
        return self._next_word(self._word_model, self._inside(self._state(context)))

    def _next_word(self, model: WordModel, state: StateNodes) -> NDArray[np.float32]:
        log_prob = model.next_word(state)
        return np.exp(log_prob, out=log_prob)

    @reads
    def top(self, context: Any = (), n: int = 10) -> list[tuple[str, float]]:
        """The n most probable next words, each with its p, best first.

        Parameters
        ----------
        context : str, sequence of str or State
            What comes before: words of a sentence, behind "<s>" if they are its first ones.
        n : int
            Words at most.

        Returns
        -------
        list of (str, float)
            Words and p(word | context), falling.
        """
        n = whole_number("n", n, 1)
        p = self._next_word(self._word_model, self._inside(self._state(context)))
        n = min(n, len(p))
        best = np.argpartition(-p, n - 1)[:n]
        best = best[np.lexsort((best, -p[best]))]
        names = self._word_model.vocabulary.names
        return [(names[word + 1], float(p[word])) for word in best.tolist()]

    # --- decoders ----------------------------------------------------------------------------------------------------

    @reads
    def start(self) -> State:
        """The state where a sentence begins.

        Returns
        -------
        State
            A value that can be compared and hashed.
        """
        return State((self._mark(), *self._word_model.start()))

    @reads
    def advance(self, state: State, word: str) -> tuple[float, State]:
        """(ln p of a word after a state, the state after it). The end of a sentence is the word "</s>".

        Parameters
        ----------
        state : State
            What `start` or `advance` of this model returned.
        word : str
            The next word.

        Returns
        -------
        (float, State)
            ln p, and the state for the word that comes next.
        """
        log_prob, after = self._word_model.advance(self._inside(state), self._follower(word))
        return log_prob, State((state[0], *after))

    @reads
    def advance_many(self, states: Sequence[State], words: Sequence[str]) -> tuple[NDArray[np.float64], list[State]]:
        """`advance` of many states, each with a word of its own.

        Parameters
        ----------
        states : sequence of State of length n
            Of this model.
        words : sequence of str of length n
            The next word of each.

        Returns
        -------
        (array of shape (n,), list of State)
            ln p of each word, and the state behind it.

        Raises
        ------
        ValueError
            If there are not as many words as states.
        """
        if len(states) != len(words):
            raise ValueError(f"{len(states)} states and {len(words)} words: each state needs one")
        return self._advance_many(list(states), self._followers(list(words)))

    def _followers(self, words: list[str]) -> NDArray[np.int32]:
        """The numbers of words that may come next."""
        if set(map(type, words)) - {str}:
            for word in words:
                self._follower(word)
        numbers = look_up(self._word_model.vocabulary.table, words, False)
        if (numbers == BEGIN).any():
            self._follower(BEGIN_NAME)
        return np.where(numbers < 0, UNKNOWN, numbers).astype(np.int32)

    def _advance_many(self, states: list[State], words: NDArray[np.int32]) -> tuple[NDArray[np.float64], list[State]]:
        model = self._word_model
        found = [model.advance(self._inside(state), word) for state, word in zip(states, words.tolist(), strict=True)]
        after = [State((state[0], *nodes)) for state, (_, nodes) in zip(states, found, strict=True)]
        return np.array([log_prob for log_prob, _ in found], np.float64), after

    # --- samples -----------------------------------------------------------------------------------------------------

    @reads
    def sample(
        self,
        n: int = 1,
        *,
        context: Any = (),
        random_state: Any = None,
        temperature: float = 1.0,
        max_length: int = LONGEST_SAMPLE,
    ) -> list[list[str]]:
        """Draw sentences, word by word.

        Parameters
        ----------
        n : int
            How many.
        context : str or list of words
            How each begins; what is returned begins with it.
        random_state : int, RandomState, Generator or None
        temperature : float
            p^(1/temperature), scaled: below 1 the probable becomes more so.
        max_length : int
            Words of a sentence at most, without the context.

        Returns
        -------
        list of lists of str
        """
        n, max_length = whole_number("n", n, 0), whole_number("max_length", max_length, 1)
        temperature = real_number("temperature", temperature, above=0.0)
        generator = as_generator(random_state)
        model, backward = self._word_model, self._reader().backward
        prompt = [word for word in self._words("context", context) if word != BEGIN_NAME]
        numbers = self._numbers(prompt[::-1] if backward else prompt)
        start = model.state_after(numbers, True)
        found = []
        for _ in range(n):
            words = self._drawn(model, start, generator, temperature, max_length)
            found.append(words[::-1] + prompt if backward else prompt + words)
        return found

    def _drawn(
        self, model: WordModel, state: StateNodes, generator: np.random.Generator, temperature: float, most: int
    ) -> list[str]:
        words: list[str] = []
        names = model.vocabulary.names
        while len(words) < most:
            log_prob = model.next_word(state).astype(np.float64)
            highest = log_prob.max()
            if not np.isfinite(highest):  # NaN: weights that were set, or are those of a file
                raise ValueError("no word has a probability after a context that was never seen")
            weights = np.cumsum(np.exp((log_prob - highest) / temperature))
            word = int(np.searchsorted(weights, generator.random() * weights[-1], side="right")) + 1
            if word == END:
                break
            words.append(names[word])
            state = model.advance(state, word)[1]
        return words


def _divergence(log_p: NDArray[np.float32], log_q: NDArray[np.float32]) -> float:
    """Σ p (ln p − ln q) over words that p does not exclude."""
    p = np.exp(log_p, dtype=np.float64)
    if not p.min() > 0:
        inside = p > 0
        p, log_p, log_q = p[inside], log_p[inside], log_q[inside]
    p *= np.subtract(log_p, log_q, dtype=np.float64)
    return float(p.sum())  # an inner product would wake the threads of a BLAS


def _contexts(model: WordModel, tokens: NDArray[np.int32]) -> list[StateNodes]:
    """The states before the words of sentences and their ends: those before the first words of all, the second, …"""
    begins = np.flatnonzero(tokens == BEGIN)
    rest = np.diff(begins, append=len(tokens)) - 1  # words that are still to come
    states, found = [model.start()] * len(begins), []
    while len(states):
        found += states
        begins += 1
        after = _after(model, states, tokens[begins])
        rest -= 1
        going_on = np.flatnonzero(rest > 0)
        begins, rest, states = begins[going_on], rest[going_on], [after[place] for place in going_on.tolist()]
    return found


def _after(model: WordModel, states: list[StateNodes], words: NDArray[np.int32]) -> list[StateNodes]:
    """The states after one word more for each."""
    if isinstance(model, BackoffModel):
        return [
            state[1:] for state in model.advance_many([(BEGIN, *state) for state in states], BEGIN, tuple, words)[1]
        ]
    return [model.advance(state, word)[1] for state, word in zip(states, words.tolist(), strict=True)]


def sentence_sums(tokens: NDArray[np.int32], log_prob: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum over each sentence."""
    return np.add.reduceat(log_prob, np.flatnonzero(tokens == BEGIN))


def _turned(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of words turned round within their sentences, whose ends stay where they are."""
    places = np.arange(ends[-1] + 1 if len(ends) else 0)
    of = np.searchsorted(ends, places)
    starts = np.append(0, ends[:-1] + 1)
    return np.where(places == ends[of], places, starts[of] + ends[of] - 1 - places)


def _mean(blocks: Iterable[_Events], end: bool, oov: bool) -> tuple[float, int]:
    """(Σ ln p, how many) of the words that count."""
    total, n = 0.0, 0
    for events in blocks:
        counted = np.ones(len(events.log_prob), np.bool_)
        if not end:
            counted &= ~events.ends
        if not oov:
            counted &= ~events.unknown
        total += float(events.log_prob[counted].sum())
        n += int(np.count_nonzero(counted))
    if n == 0:
        raise ValueError("there is no word to measure: X is empty, or all of its words are left out")
    return total, n
