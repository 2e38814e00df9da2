"""What labels a word has that was never seen: guesses by its shape or its ends, learnt from rare words."""

from collections.abc import Callable, Iterable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MAX_RARE_COUNT = 10 + 1e-6  # occurrences of the words to learn from, at most; expected ones add up but for rounding
MAX_SUFFIX = 10  # letters of an end
MAX_KEPT_CLASSES = 1 << 14  # classes whose guesses are kept
ENDINGS = (  # of English words, the longer before those that they end with
    "ness", "ment", "tion", "able", "ible", "less", "ing", "est", "ers", "ies", "ity", "ous", "ive", "ian", "ize", "ed",
    "er", "ly", "al", "ic", "en", "or", "es", "s", "y",
)  # fmt: skip


def shape(word: str) -> str:
    """The kinds of letters of a word: whether it begins with a capital or is all capitals, has digits, a hyphen …"""
    if not any(map(str.isalnum, word)):
        return "signs"
    case = "capitals" if word.isupper() and len(word) > 1 else "Capital" if word[0].isupper() else "lower"
    if not word.islower() and case == "lower":
        case = "mixed" if any(map(str.isupper, word)) else "none"
    digits = "digits" if all(map(str.isdigit, word)) else "number" if word[0].isdigit() else ""
    if not digits and any(map(str.isdigit, word)):
        digits = "digit"
    return f"{case} {digits} {'-' if '-' in word[1:] else ''}{'.' if '.' in word[1:] else ''}"


def by_shape(word: str) -> list[str]:
    return [shape(word)]


def by_suffix(word: str) -> list[str]:
    """Its ends, each longer than the one before; words with a capital are another kind."""
    kind = "A" if word[:1].isupper() else "a"
    return [kind, *(kind + word[-length:] for length in range(1, min(MAX_SUFFIX, len(word)) + 1))]


def by_signature(word: str) -> list[str]:
    """Its capitals, digits, hyphens, and the one of the usual endings that it has."""
    kinds = "".join(
        sign
        for sign, there in (
            ("C", word[:1].isupper()),
            ("D", any(map(str.isdigit, word))),
            ("H", "-" in word),
            ("A", word.isupper() and len(word) > 1),
        )
        if there
    )
    ending = next((end for end in ENDINGS if word.lower().endswith(end)), "") if len(word) > 3 else ""
    return [kinds, f"{kinds}-{ending}"] if ending else [kinds]


WORD_CLASSES: dict[str, Callable[[str], list[str]]] = {
    "shape": by_shape,
    "suffix": by_suffix,
    "signature": by_signature,
}


class UnknownWordModel:
    """g(k | word): the labels of the rare words that are like it, of which the more alike count more.

    A word belongs to classes, each part of the one before: of an end of i letters, with capital or without. Down them

        g_i = (ĝ_i + θ g_{i−1}) / (1 + θ),   g_{−1}(k) = the share of k among all tokens

    with ĝ the relative frequencies in the class, and θ the standard deviation of g_{−1} (Brants 2000, equations 7–10).
    """

    def __init__(self, way: str, words: Iterable[str], counts: Floats) -> None:
        """Learn from words, some of which are rare, and their counts [V, K]."""
        self._classes = WORD_CLASSES[way]
        times = counts.sum(axis=1)
        total = times.sum()
        n_labels = counts.shape[1]
        self._prior = counts.sum(axis=0) / total if total > 0 else np.full(n_labels, 1.0 / n_labels)
        self._theta = float(np.std(self._prior, ddof=1)) if n_labels > 1 else 0.0
        rare = np.flatnonzero((times > 0) & (times <= MAX_RARE_COUNT))
        self.any_rare = self._prior
        if len(rare):
            mean = counts[rare].sum(axis=0) / times[rare].sum()
            self.any_rare = (mean + self._theta * self._prior) / (1 + self._theta)
        chosen = set(rare.tolist())
        self._places: dict[str, int] = {}
        of_classes: list[int] = []
        depths = []
        for place, word in enumerate(words):
            if place in chosen:
                found = self._classes(word)
                of_classes += [self._places.setdefault(name, len(self._places)) for name in found]
                depths.append(len(found))
        members = np.repeat(rare, depths)
        ones = np.ones(len(of_classes))
        tree = sp.csr_array((ones, (of_classes, members)), shape=(max(1, len(self._places)), len(times)))
        counted = sp.csr_array(tree @ sp.csr_array(counts))
        sums = counted.sum(axis=1)
        counted.data /= np.repeat(sums, np.diff(counted.indptr))
        self._shares = counted
        self._guesses: dict[int, Floats] = {}  # of some classes

    def of_one(self, word: str) -> Floats:
        """g of one word, [K]; what its classes say is kept."""
        find = self._places.get
        found = self._prior
        for name in self._classes(word):
            place = find(name)
            if place is not None:
                guess = self._guesses.get(place)
                found = self._extended(place, found) if guess is None else guess
        return found

    def _extended(self, place: int, found: Floats) -> Floats:
        """g of a class, after that of the class that it is a part of."""
        if len(self._guesses) >= MAX_KEPT_CLASSES:
            self._guesses.clear()
        shares, own = np.zeros(len(found)), slice(*self._shares.indptr[place : place + 2].tolist())
        shares[self._shares.indices[own]] = self._shares.data[own]
        guess = self._guesses[place] = (shares + self._theta * found) / (1 + self._theta)
        return guess

    def __call__(self, words: Iterable[str]) -> Floats:
        """g of each word, [n, K]."""
        find = self._places.get
        known = [[place for name in self._classes(word) if (place := find(name)) is not None] for word in words]
        found = np.tile(self._prior, (len(known), 1))
        for depth in range(max(map(len, known), default=0)):
            rows = [row for row, places in enumerate(known) if len(places) > depth]
            shares = self._shares[[known[row][depth] for row in rows]].toarray()
            found[rows] = (shares + self._theta * found[rows]) / (1 + self._theta)
        return found
