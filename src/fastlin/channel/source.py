"""Sources: language models, and whatever can be asked as they can."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.lm.base import LanguageModel
from fastlin.lm.vocabulary import BEGIN_NAME, END, END_NAME, MARKS
from fastlin.lm.word_model import WordModel

Advanced = tuple[NDArray[np.float64], list[Any]]
ROUNDING = 1e-6  # of float32: a logarithm of a probability may be as much above 0


class ModelSource:
    """A language model as a source: words are looked up once for a batch, not once for each state."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.backward = model._reader().backward
        self.by_character = model._reader().unit == "character"

    @property
    def word_model(self) -> WordModel:
        """The probabilities that it has learnt."""
        return self._model._word_model

    def start(self) -> Any:
        """The state where a sentence begins."""
        return self._model.start()

    def keys(self, words: list[str]) -> NDArray[Any]:
        """What `advance` wants of words."""
        return self._model._followers(words)

    def advance(self, states: list[Any], keys: NDArray[Any]) -> Advanced:
        """(ln p, states after) of many states, each with a word of its own."""
        return self._model._advance_many(states, keys)

    def end(self, states: list[Any]) -> NDArray[np.float64]:
        """ln p of the end of a sentence."""
        return self._model._advance_many(states, np.full(len(states), END, np.int32))[0]

    def words(self) -> list[str]:
        """The words it knows, without marks."""
        return self._model._word_model.vocabulary.names[MARKS:]

    def tokens(self, place: int, sentence: Any) -> list[str]:
        """The words of a sentence."""
        return proved_words(place, self._model._reader().words(sentence) if isinstance(sentence, str) else sentence)


class StateSource:
    """An object with `start` and `advance`, and `advance_many` where that is faster, as a source."""

    backward = False

    def __init__(self, model: Any) -> None:
        self._model = model

    def start(self) -> Any:
        """The state where a sentence begins."""
        state = self._model.start()
        _prove_states([state])
        return state

    def keys(self, words: list[str]) -> NDArray[Any]:
        """The words as they are."""
        keys = np.empty(len(words), object)
        keys[:] = words
        return keys

    def advance(self, states: list[Any], keys: NDArray[Any]) -> Advanced:
        """(ln p, states after) of many states, each with a word of its own."""
        words = keys.tolist()
        if hasattr(self._model, "advance_many"):
            log_prob, after = _proved_pair("advance_many", self._model.advance_many(states, words))
        else:
            asked = zip(states, words, strict=True)
            found = [_proved_pair("advance", self._model.advance(state, word)) for state, word in asked]
            log_prob, after = [log_prob for log_prob, _ in found], [state for _, state in found]
        log_prob = _as_numbers(log_prob)
        if log_prob.shape != (len(words),) or len(after) != len(words):
            raise ValueError(
                f"source must return ln p and a state for each of {len(words)} words, got {log_prob!r:.60}"
            )
        _prove_states(after)
        return _proved_logarithms(log_prob, words), list(after)

    def end(self, states: list[Any]) -> NDArray[np.float64]:
        """ln p of the end of a sentence."""
        return self.advance(states, self.keys([END_NAME] * len(states)))[0]

    def words(self) -> list[str]:
        """The words it knows."""
        return [word for word in self._model.words_ if word not in (BEGIN_NAME, END_NAME)]

    def tokens(self, place: int, sentence: Any) -> list[str]:
        """The words of a sentence, split at white space."""
        return proved_words(place, sentence.split() if isinstance(sentence, str) else sentence)


class MessageSource:
    """An object that knows how probable whole messages are, `score_samples`, as a source of one word: the message."""

    backward = False

    def __init__(self, model: Any) -> None:
        self._model = model

    def start(self) -> Any:
        """The state before the message."""
        return False

    def keys(self, words: list[str]) -> NDArray[np.float64]:
        """ln p of messages."""
        log_prob = _as_numbers(self._model.score_samples(words) if words else [])
        if log_prob.shape != (len(words),) or np.isnan(log_prob).any():
            raise ValueError(f"source must return ln p of {len(words)} messages, got {log_prob!r:.60}")
        return _proved_logarithms(log_prob, words)

    def advance(self, states: list[Any], keys: NDArray[np.float64]) -> Advanced:
        """(ln p of messages, the state behind each)."""
        return keys, [True] * len(states)

    def end(self, states: list[Any]) -> NDArray[np.float64]:
        """The end of a message is sure, that there is one, too."""
        return np.where(states, 0.0, -np.inf)

    def words(self) -> list[str]:
        """Of messages there is no list."""
        raise ValueError("source knows messages, not words: the channel must have sources of its own")

    def tokens(self, place: int, sentence: Any) -> list[str]:
        """An observation as a whole."""
        if not isinstance(sentence, str):
            raise TypeError(f"X[{place}] must be a string, got {sentence!r:.60}")
        return [sentence]


Source = ModelSource | StateSource | MessageSource


def as_source(source: Any) -> Source:
    """A language model, or an object with its methods for decoders; TypeError: it is neither."""
    if isinstance(source, LanguageModel):
        return ModelSource(source._snapshot())
    if not isinstance(source, type) and hasattr(source, "start") and hasattr(source, "advance"):
        return StateSource(source)
    if not isinstance(source, type) and hasattr(source, "score_samples") and not hasattr(source, "start"):
        return MessageSource(source)
    raise TypeError(
        "source must be a language model, or an object with `start` and `advance`, or with `score_samples`, "
        f"got {source!r:.60}"
    )


def _proved_pair(method: str, found: Any) -> tuple[Any, Any]:
    """(ln p, state), or lists of both."""
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise TypeError(f"source must return (ln p, the state after) from `{method}`, got {found!r:.60}")
    return found[0], found[1]


def _as_numbers(log_prob: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(log_prob, np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"source must return logarithms of probabilities, got {log_prob!r:.60}") from error


def _proved_logarithms(log_prob: NDArray[np.float64], words: list[str]) -> NDArray[np.float64]:
    """ln p of words, at most 0; ValueError names a word of another number."""
    wrong = ~(log_prob <= ROUNDING)
    if wrong.any():
        place = int(np.argmax(wrong))
        value = "NaN" if np.isnan(log_prob[place]) else f"{log_prob[place]:g}"
        raise ValueError(
            f"source must return logarithms of probabilities, at most 0, got {value} for {words[place]!r:.60}"
        )
    return np.minimum(log_prob, 0.0)


def _prove_states(states: Iterable[Any]) -> None:
    """TypeError: a state cannot be hashed; searches join the ways that come to equal states."""
    state = None
    try:
        for state in states:
            hash(state)
    except TypeError as error:
        raise TypeError(f"source must have states that can be hashed, such as tuples, got {state!r:.60}") from error


def proved_words(place: int, words: Any) -> list[str]:
    """A list of words; TypeError, ValueError: it is none."""
    if isinstance(words, bytes | dict) or not isinstance(words, Sequence):
        raise TypeError(f"X[{place}] must be a string or a list of words, got {words!r:.60}")
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"X[{place}] must hold words that are strings, got {word!r:.60}")
        if word in (BEGIN_NAME, END_NAME):
            raise ValueError(f"X[{place}] must hold no mark of sentences, got {word!r}")
    return list(words)


def listed(X: Any) -> list[Any]:
    """Sentences as a list; TypeError: they are none."""
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of sentences, got {X!r:.60}")
    return list(X)
