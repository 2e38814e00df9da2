"""Lists of candidates, ordered anew by a language model."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fastlin.lm.base import LanguageModel
from fastlin.validation import real_number

Candidate = tuple[Any, float]
LARGEST = 1e12  # weight


def rescore(
    model: LanguageModel, lists: Iterable[Sequence[Candidate]], *, weight: float = 1.0, word_bonus: float = 0.0
) -> list[list[Candidate]]:
    """Order each list by score + weight · ln p(sentence) + word_bonus · words, best first.

    Parameters
    ----------
    model : LanguageModel
    lists : iterable of lists of (sentence, score)
        What a recogniser or a translator found, for each input: sentences as strings or lists of words, and the
        logarithms of their own probabilities.
    weight : float
        Of the language model.
    word_bonus : float
        Added for each word: language models like short sentences.

    Returns
    -------
    list of lists of (sentence, new score)
        Among equals the first stays the first.
    """
    if not isinstance(model, LanguageModel):
        raise TypeError(f"model must be a language model, got {type(model).__name__}")
    weight = real_number("weight", weight, at_least=-LARGEST, at_most=LARGEST)
    word_bonus = real_number("word_bonus", word_bonus, at_least=-LARGEST, at_most=LARGEST)
    given = [[_pair(candidate) for candidate in candidates] for candidates in lists]
    flat = [sentence for candidates in given for sentence, _ in candidates]
    log_prob = model.score_samples(flat) if flat else np.empty(0)
    lengths = np.array([len(model.tokens(sentence)) for sentence in flat], np.float64)
    own = np.array([real_number("score", score) for candidates in given for _, score in candidates])
    scores = (own + (weight * log_prob if weight else 0.0) + word_bonus * lengths).tolist() if flat else []
    found, start = [], 0
    for candidates in given:
        stop = start + len(candidates)
        pairs = [(sentence, score) for (sentence, _), score in zip(candidates, scores[start:stop], strict=True)]
        found.append(sorted(pairs, key=lambda pair: -pair[1]))
        start = stop
    return found


def _pair(candidate: Any) -> Candidate:
    if not isinstance(candidate, list | tuple) or len(candidate) != 2:
        raise TypeError(f"lists must hold a list of pairs (sentence, score) for each input, got {candidate!r:.60}")
    return candidate[0], candidate[1]
