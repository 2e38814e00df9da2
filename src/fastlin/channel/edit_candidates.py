"""The words of a dictionary that an observed word may stand for, within some edits, by a channel of characters."""

import secrets
from collections.abc import Sequence

import numpy as np

from fastlin.channel.base import Candidates, Channel, Pair
from fastlin.channel.edit_model import EditModel
from fastlin.channel.letters import as_letters
from fastlin.engine.channel.deletes_index import LONGEST, MOST_EDITS, DeletesIndex

FARTHEST = MOST_EDITS
PREFIX_LENGTH = 7  # letters of a word that the index looks at
LONGEST_WORD = 2000  # characters of a word that has candidates, or is one


class EditCandidates(Channel):
    """p(observed | source) of the words of a dictionary that are no more than some edits from the observed one."""

    def __init__(self, model: EditModel, words: Sequence[str], max_edits: int) -> None:
        self.words, self.max_edits = list(words), max_edits
        self._model = model
        near = [word if len(word) <= LONGEST_WORD else "" for word in self.words]
        self._long = np.array([len(word) > LONGEST_WORD for word in self.words], bool)
        prefix = min(max(PREFIX_LENGTH, max_edits + 1), LONGEST)
        self._index = DeletesIndex(*as_letters(near), max_edits, prefix, secrets.randbits(64))
        self._encoded = model.encode(near)

    def __reduce__(self) -> tuple[type, tuple[EditModel, list[str], int]]:
        return EditCandidates, (self._model, self.words, self.max_edits)

    def candidates(self, observed: str) -> list[Pair]:
        """Those of one word."""
        return self.candidates_many([observed]).of_word(0)

    def candidates_many(self, observed: Sequence[str]) -> Candidates:
        """The words of the dictionary within the edits, in its order, and ln p of each observed word given them."""
        near = [word if len(word) <= LONGEST_WORD else "" for word in observed]
        starts, found, _ = self._index.neighbours(*as_letters(near), self.max_edits)
        word = np.repeat(np.arange(len(near), dtype=np.int32), np.diff(starts))
        short = np.array([len(one) <= LONGEST_WORD for one in observed], bool)
        kept = short[word] & ~self._long[found]
        word, found = word[kept], found[kept]
        order = np.lexsort((found, word))
        word, found = word[order], found[order]
        log_prob = self._model.score(self._encoded, found, self._model.encode(near), word)
        starts = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=len(near)))])
        return Candidates(starts, [self.words[place] for place in found.tolist()], log_prob)
