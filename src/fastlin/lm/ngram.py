"""`NgramModel`: counts of n-grams, smoothed."""

import itertools
import math
import re
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.data.scratch import ScratchSpace
from fastlin.lm import arpa
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.backoff_base import BackoffLanguageModel
from fastlin.lm.counts import NgramCounts, count_tokens, grouped, merge, merge_all, on_disk, relabel
from fastlin.lm.pruning import entropy_kept, pruned
from fastlin.lm.sentences import DIRECTIONS, SENTENCES, SentenceReader, blocks_learnt_by
from fastlin.lm.smoothing import SMOOTHINGS, Estimate, SmoothingMethod, estimate
from fastlin.lm.vocabulary import BEGIN, MARKS, UNKNOWN, WordVocabulary, look_up, marks
from fastlin.runtime.made_once import made_once
from fastlin.runtime.parallel import WorkerPool
from fastlin.validation.choices import Direction, Markup, Smoothing, Unit
from fastlin.validation.parameter_kinds import (
    ABSENT,
    LABEL_WEIGHTS,
    NUMBERS,
    TRUTH,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)
from fastlin.validation.parameters import real_number, whole_number

BLOCK = 1 << 24  # tokens that are counted together
SMALLEST_BLOCK = 1 << 10
BYTES_A_TOKEN, BYTES_AN_N_GRAM = 48, 24  # while they are counted
HIGHEST = 64  # order
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGTkmgt]?)i?[Bb]?")
PARAMETERS_OF_TEXTS = ("min_count", "vocabulary", "unk", "unit", "direction", "markup", "n_jobs")


@dataclass(frozen=True)
class NgramState:
    """The learnt state: counts of every word that was seen, and how a model is made of them."""

    seen: WordVocabulary
    counts: NgramCounts
    smoothing: SmoothingMethod
    reader: SentenceReader
    min_count: int
    vocabulary: tuple[str, ...] | None
    unk: str | None
    n_jobs: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()  # of one moment: others may add what is made when it is first asked for

    @made_once
    def known(self) -> tuple[WordVocabulary, NgramCounts]:
        """The vocabulary, and its counts: those of rare and of other words are the unknown word's."""
        return _known(self)

    @made_once
    def estimate(self) -> Estimate:
        return estimate(self.known[1], self.known[0], self.smoothing, self.n_jobs)

    @property
    def model(self) -> BackoffModel:
        return self.estimate.model


@dataclass(frozen=True)
class ImportedState:
    """A model that was read from a file or pruned: there are no counts."""

    model: BackoffModel
    reader: SentenceReader
    why: str  # no counts


class NgramModel(StatefulEstimator[NgramState | ImportedState], BackoffLanguageModel):
    """An n-gram language model: p(w | the order − 1 words before), from smoothed counts.

    By default modified Kneser-Ney (Chen and Goodman 1999), interpolated:
    p(w|h) = max(c(hw) − D(c(hw)), 0) / c(h) + γ(h) p(w|h′), where h′ is h without its first word, and c, below the
    highest order, counts how many different words an n-gram follows.

    Parameters
    ----------
    order : int
        The n of n-grams, from 1 to 64.
    smoothing : str
        "modified_kneser_ney", "kneser_ney" (one discount an order), "absolute_discounting", "witten_bell", "katz"
        (Good and Turing's discounts of counts up to 7; always back-off), "dirichlet" (`alpha` shared among words as the
        next shorter history has them, or as `base_measure` says), "lidstone" (`alpha` added to each count), "laplace"
        (one added), or "relative_frequency", which has no probability for what was not seen, and none at all in a
        context that was not.
    interpolate : bool
        Whether the shorter history's probabilities are added to those of known n-grams, too (else: back-off).
    discount : float or None
        The one discount of "kneser_ney" and "absolute_discounting", in (0, 1); of "modified_kneser_ney" it takes the
        place of the three. None: from the counts, for each order.
    alpha : float
        See "dirichlet" and "lidstone".
    base_measure : dict of words to numbers, or None
        Of a word without a history, p = 0 where it is not in it; None: every word is as probable. "dirichlet" with a
        base measure asks no shorter history, and "lidstone" shares its additions so.
    min_count : int
        Words seen less often are unknown words.
    cutoff : int or list of int
        N-grams seen less often are left out, for each order from bigrams' on: cutoff=[1, 1, 2], the last for all that
        follow, unigrams being always kept. Must not fall.
    vocabulary : list of str or None
        The words there are; others are unknown. None: those of the training text.
    unk : str or None
        The unknown word's name. None: the vocabulary is closed, and an unknown word has probability 0.
    unit : {"word", "character"}
    direction : {"forward", "backward"}
        Backward models predict a word from those that follow.
    markup : {"raise", "keep"}
        What happens where "<s>", "</s>" or the unknown word's name stand in a text. "keep": the latter counts as the
        unknown word, the others are left out.
    n_jobs : int or None
        Threads that count. The model has the same bits.

    Attributes
    ----------
    words_ : list of str
        The words that may come next, "</s>" first.
    n_grams_ : list of int
        How many of each order.
    counts_ : NgramCounts
        How often each n-gram was seen, as sorted tries.
    discounts_ : list of ndarray
        Of each order, what was taken from counts of 1, 2, … (the last for all larger). Where there are too few counts
        to estimate those of modified Kneser-Ney, they are n₁/(n₁ + 2n₂), or ½, 1, 1½, and a warning says so.

    Notes
    -----
    At most 2³¹ − 2 n-grams of an order and 2³¹ words. Kept in memory: 20 bytes an n-gram besides its counts; 27
    more where much text is scored.

    Examples
    --------
    >>> from fastlin.lm import NgramModel
    >>> model = NgramModel(order=2, smoothing="witten_bell").fit(["the cat sat", "the dog sat", "a cat ran"])
    >>> round(model.perplexity(["the cat ran"]), 2)
    2.47
    >>> model.top(["the"], 2)[0][0]
    'cat'
    """

    _parameters: ClassVar[ParameterTable] = SENTENCES | {
        "order": Integer(at_least=1, at_most=HIGHEST), "smoothing": OneOf(*SMOOTHINGS), "interpolate": TRUTH,
        "discount": Real(above=0, below=1) | ABSENT, "alpha": Real(above=0, below=math.inf),
        "base_measure": LABEL_WEIGHTS | ABSENT, "cutoff": Integer(at_least=1) | NUMBERS,
        "direction": OneOf(*DIRECTIONS),
    }  # fmt: skip

    def __init__(
        self,
        order: int = 3,
        smoothing: Smoothing = "modified_kneser_ney",
        *,
        interpolate: bool = True,
        discount: float | None = None,
        alpha: float = 1.0,
        base_measure: Any = None,
        min_count: int = 1,
        cutoff: int | Sequence[int] = 1,
        vocabulary: Sequence[str] | None = None,
        unk: str | None = "<unk>",
        unit: Unit = "word",
        direction: Direction = "forward",
        markup: Markup = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.smoothing = smoothing
        self.interpolate = interpolate
        self.discount = discount
        self.alpha = alpha
        self.base_measure = base_measure
        self.min_count = min_count
        self.cutoff = cutoff
        self.vocabulary = vocabulary
        self.unk = unk
        self.unit = unit
        self.direction = direction
        self.markup = markup
        self.n_jobs = n_jobs

    # --- learning ----------------------------------------------------------------------------------------------------

    @learns
    def fit(self, X: Any, y: Any = None, *, memory: int | str | None = None) -> Self:
        """Count the n-grams of sentences, and smooth.

        Parameters
        ----------
        X : list of sentences, path, open file, or what `fastlin.data.read` returns
            A sentence is a string, split at white space (with unit="character", into characters), or a list of words.
            A path or an open binary file holds a sentence a line, compressed or not; suffixes as in `fastlin.data.read`
            say otherwise.
        y : ignored
        memory : int, str or None
            Bytes for counting, such as "1G": blocks of the corpus are counted within it, and their counts wait on disk,
            in the folder for temporary files, to be merged. The model has the same bits, and must fit besides. None:
            counts of blocks of 16 million tokens are merged in memory.

        Returns
        -------
        self
            The fitted model.
        """
        del y
        model = self._working_copy()
        model._state_of_fit = model._counted(X, None, memory)
        model._state_of_fit.estimate  # noqa: B018 - what it warns of is this fit's business
        return self._take_fitted(model)

    @learns
    def partial_fit(self, X: Any, y: Any = None, *, memory: int | str | None = None) -> Self:
        """Add the counts of more sentences; probabilities are made anew when they are next asked for.

        `fit(a + b)` is `fit(a).partial_fit(b)`, in every bit.

        Parameters
        ----------
        X : list of sentences, path, open file, or what `fastlin.data.read` returns
            What `fit` takes.
        y : None
            Ignored.
        memory : int, str or None
            Bytes for counting, as for `fit`.

        Returns
        -------
        self
            The model, which has counted these, too.

        Raises
        ------
        ValueError
            If the model has no counts: it was pruned, or read from a file of ARPA.
        """
        del y
        model = self._working_copy()
        known = self.__dict__.get("_state_of_fit")
        if isinstance(known, ImportedState):
            raise ValueError(f"partial_fit needs counts, and this model has none: {known.why}")
        model._state_of_fit = model._counted(X, known, memory)
        return self._take_fitted(model)

    def _counted(self, X: Any, known: NgramState | None, memory: int | str | None = None) -> NgramState:
        order, smoothing, reader = self._checked()
        if known is None:
            table = WordVocabulary.of(marks(self.unk)).new_table()
        else:
            if known.counts.order != order or known.reader != reader or known.unk != self.unk:
                raise ValueError("order, unit, direction, markup and unk must be those of what was counted before")
            table = known.seen.new_table()
        room = None if memory is None else as_bytes("memory", memory)
        most = BLOCK if room is None else max(SMALLEST_BLOCK, room // (BYTES_A_TOKEN + BYTES_AN_N_GRAM * order))
        keep = None if room is None else on_disk(ScratchSpace(tempfile.gettempdir()))
        with WorkerPool(self.n_jobs) as workers:
            blocks = grouped(blocks_learnt_by(workers, reader, X, table, marks(self.unk)), min(most, BLOCK))
            runs = (count_tokens(block, order, len(table), workers) for block in blocks)
            counts = merge_all(runs, order, len(table), keep)
        if known is not None:
            counts = merge(known.counts, counts)
        if counts.counts[0][BEGIN] == 0:
            raise ValueError("X must hold at least one sentence to learn from; there is no sentence in it")
        vocabulary = None if self.vocabulary is None else tuple(self.vocabulary)
        return NgramState(
            WordVocabulary.of_table(table), counts, smoothing, reader, self.min_count, vocabulary, self.unk, self.n_jobs
        )

    def _checked(self) -> tuple[int, SmoothingMethod, SentenceReader]:
        check_parameters(self)
        alpha, discount = float(self.alpha), None if self.discount is None else float(self.discount)
        cutoffs = self._cutoffs("cutoff", self.cutoff)
        if self.unk is not None and (not isinstance(self.unk, str) or self.unk in ("<s>", "</s>", "")):
            raise ValueError(f"unk must be a word that is no mark of sentences, or None, got {self.unk!r}")
        if isinstance(self.vocabulary, str):
            raise TypeError(f"vocabulary must be a list of words, got the string {self.vocabulary!r:.60}")
        if self.vocabulary is not None and not (
            isinstance(self.vocabulary, Collection) and all(isinstance(word, str) for word in self.vocabulary)
        ):
            raise TypeError(f"vocabulary must be a list of words, got {self.vocabulary!r:.60}")
        smoothing = SmoothingMethod(
            self.smoothing, bool(self.interpolate), discount, alpha, self.base_measure, cutoffs, self.unk is None
        )
        reader = SentenceReader(self.unit, self.direction == "backward", self.markup == "keep")
        return int(self.order), smoothing, reader

    @staticmethod
    def _cutoffs(name: str, cutoff: Any) -> tuple[int, ...]:
        """Of bigrams and each longer order the least count that stays; ValueError: they fall."""
        given = list(cutoff) if isinstance(cutoff, Sequence | np.ndarray) else [cutoff]
        cutoffs = tuple(whole_number(name, each, 1) for each in given)
        if not cutoffs:
            raise ValueError(f"{name} must be a whole number, or hold one for each order, got {cutoff!r}")
        if any(later < earlier for earlier, later in itertools.pairwise(cutoffs)):
            raise ValueError(f"{name} must not fall from order to order, got {cutoff!r}: longer n-grams are rarer")
        return cutoffs

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    def _backoff_model(self) -> BackoffModel:
        return self._learnt.model

    def _reader(self) -> SentenceReader:
        return self._learnt.reader

    @property
    @reads
    def counts_(self) -> NgramCounts:
        """How often each n-gram was seen, of known words; rare words count as the unknown one."""
        return self._with_counts().known[1]

    @property
    @reads
    def discounts_(self) -> list[NDArray[np.float64]]:
        """Of each order, what was taken from counts of 1, 2, …"""
        return self._with_counts().estimate.discounts

    def _with_counts(self) -> NgramState:
        learnt = self._learnt
        if isinstance(learnt, ImportedState):
            raise AttributeError(f"this model has no counts: {learnt.why}")
        return learnt

    @learns
    def prune(self, threshold: float | None = None, *, min_count: int | Sequence[int] | None = None) -> Self:
        """Leave out n-grams, and let every distribution sum to one again. Unigrams stay.

        Parameters
        ----------
        threshold : float or None
            Leave out n-grams, each by itself, where the training perplexity rises by less than this factor less one
            (Stolcke 1998): 1e-8 leaves out some, 1e-6 most.
        min_count : int, list of int or None
            Leave out n-grams seen less often; of each order as `cutoff`.

        Returns
        -------
        self
            The model, with fewer n-grams.

        Notes
        -----
        A pruned model has no counts, so `partial_fit` refuses it. Kneser-Ney's shorter n-grams do not have the
        probabilities of relative frequencies, which entropy pruning takes for the histories'; prune it less, or smooth
        by Witten and Bell or Katz (Chelba et al. 2010).
        """
        if (threshold is None) == (min_count is None):
            raise ValueError(f"prune takes either threshold or min_count, got {threshold!r} and {min_count!r}")
        learnt = self._learnt
        model = self._backoff_model
        if threshold is not None:
            keep = entropy_kept(model, real_number("threshold", threshold, at_least=0.0))
        else:
            cutoffs = self._cutoffs("min_count", min_count)
            keep = self._counted_often(model, cutoffs)
        copy = self._working_copy()
        copy._state_of_fit = ImportedState(pruned(model, keep), learnt.reader, "it was pruned")
        return self._take_fitted(copy)

    def _counted_often(self, model: BackoffModel, cutoffs: tuple[int, ...]) -> list[NDArray[np.bool_] | None]:
        """Which n-grams of the model were seen as often as is asked for."""
        state = self._learnt
        if isinstance(state, ImportedState):
            raise ValueError(f"min_count asks for counts, and this model has none: {state.why}; threshold needs none")
        smoothing, counts = state.smoothing, state.known[1]
        keep: list[NDArray[np.bool_] | None] = [None]
        for n in range(1, model.order):
            there = counts.counts[n][counts.counts[n] >= smoothing.cutoff(n)]
            keep.append(there >= cutoffs[min(n - 1, len(cutoffs) - 1)])
        return keep

    # --- files of others ---------------------------------------------------------------------------------------------

    @classmethod
    def from_arpa(
        cls,
        path: Any,
        *,
        unk: str | None = None,
        unit: Unit = "word",
        direction: Direction = "forward",
        markup: Markup = "raise",
    ) -> Self:
        """A model from a file in ARPA's format, as KenLM, SRILM and variKN write it.

        Parameters
        ----------
        path : str, path or open binary file, compressed or not
        unk : str or None
            The unknown word's name; None: "<unk>", or "<UNK>" where only that is in the file. A file without it gives
            unknown words p = 10⁻¹⁰⁰, as KenLM does.
        unit, direction, markup : str
            As NgramModel has them.

        Returns
        -------
        NgramModel
            A model with the probabilities of the file, and without counts.

        Raises
        ------
        ArpaError
            Where the file is malformed, with the number of the line.
        """
        _, _, reader = cls(unk=unk, unit=unit, direction=direction, markup=markup)._checked()
        model, name = arpa.read(path, unk=unk, characters=unit == "character")
        found = cls(order=model.order, unk=name, unit=unit, direction=direction, markup=markup)
        found._state_of_fit = ImportedState(model, reader, "it was read from an ARPA file")
        return found


def counted_as(model: Any, X: Any, order: int, cutoff: int | Sequence[int] = 1) -> NgramState:
    """The counts of a text for an estimator whose parameters of texts have the names of NgramModel's."""
    parameters = {name: getattr(model, name) for name in PARAMETERS_OF_TEXTS if hasattr(model, name)}
    return NgramModel(order, cutoff=cutoff, **parameters)._counted(X, None)


def as_bytes(name: str, size: int | str) -> int:
    """A number of bytes, or a string such as "500M"."""
    if isinstance(size, str):
        found = SIZE.fullmatch(size.strip())
        if found is None:
            raise ValueError(f'{name} must be a number of bytes or a string such as "1G", got {size!r}')
        return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))
    return whole_number(name, size, 1)


def _known(state: NgramState) -> tuple[WordVocabulary, NgramCounts]:
    """The words that are known, and counts in which all others are the unknown word."""
    counts, seen = state.counts, state.seen
    if state.vocabulary is None and state.min_count == 1:
        return seen, counts
    numbers = np.full(len(seen), UNKNOWN, np.int32)
    numbers[:MARKS] = np.arange(MARKS)
    if state.vocabulary is None:
        kept = MARKS + np.flatnonzero(counts.counts[0][MARKS:] >= state.min_count)
        numbers[kept] = MARKS + np.arange(len(kept))
        vocabulary = seen.taking(np.concatenate([np.arange(MARKS), kept]).astype(np.int32))
    else:
        words = list(dict.fromkeys(state.vocabulary))
        names = marks(state.unk)
        vocabulary = WordVocabulary.of(names + [word for word in words if word not in names])
        found = look_up(vocabulary.table, seen.names, False)
        numbers = np.where(found >= 0, found, UNKNOWN).astype(np.int32)
        rare = counts.counts[0] < state.min_count
        rare[:MARKS] = False
        numbers[rare] = UNKNOWN
    result = relabel(counts, numbers, len(vocabulary))
    if state.unk is None and result.counts[0][UNKNOWN]:
        raise ValueError("X holds words that are not in the vocabulary, which is closed (unk=None)")
    return vocabulary, result
