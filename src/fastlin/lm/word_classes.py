"""`WordClasses`: each word in one class, by exchange."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import storage
from fastlin.core.callbacks import make_callback
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.engine.lm import exchange as kernels
from fastlin.lm.counts import NgramCounts
from fastlin.lm.ngram import counted_as
from fastlin.lm.sentences import SENTENCES, ReadsSentences, SentenceReader
from fastlin.lm.vocabulary import BEGIN, MARKS, WordVocabulary
from fastlin.runtime.user_warnings import warn_user
from fastlin.validation import whole_number
from fastlin.validation.choices import Markup, Unit
from fastlin.validation.parameter_kinds import VERBOSE, Code, Integer, ParameterTable, Real, check_parameters

TABLE_SIZE = 1 << 16  # n log n of larger counts is computed
WORDS_OF_A_CALL = 1 << 10  # exchanged between two looks at Ctrl-C

Bigrams = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]


@dataclass(frozen=True)
class ClassesOfWords:
    """The class of each word, between two rounds; those of the marks are theirs alone."""

    classes: NDArray[np.int32]

    def state_dict(self) -> State:
        return {"classes": self.classes}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        found, largest = saved.array("classes", self.classes), int(self.classes.max())
        words = found[MARKS:]
        if (found[:MARKS] != np.arange(MARKS)).any() or ((words < MARKS) | (words > largest)).any():
            saved.reject("classes")
        self.classes[:] = found


@dataclass(frozen=True)
class ClassState:
    """The learnt state: the words, and the class of each."""

    vocabulary: WordVocabulary
    counts: NDArray[np.int64]
    classes: NDArray[np.int32]
    reader: SentenceReader


class WordClasses(ReadsSentences, StatefulEstimator[ClassState]):
    """Hard classes of words in which class bigrams are most likely (Martin, Liermann & Ney 1998).

    Maximises Σ log p(c(w) | c(v)) p(w | c(w)) over the bigrams v w of a text. Words begin in classes by turns, the
    frequent ones first; then each word in turn moves to the class in which the text is most likely, until few move.
    The marks that begin and end a sentence and the unknown word have classes of their own, 0, 1 and 2.

    Parameters
    ----------
    n_classes : int
        How many, the three of the marks among them.
    max_iter : int
        Rounds over all words at most.
    tol : float
        Ends when a round moves no more than this share of the words.
    min_count, vocabulary, unk, unit, markup, n_jobs
        As `NgramModel` has them.
    verbose : int
        1 prints a line a round.
    callback : callable or None
        `callback(model, record)` after every round; a true answer ends the fit.

    Attributes
    ----------
    words_ : list of str
        The words, the marks first.
    word_classes_ : ndarray of int32, shape (n_words,)
        The class of each.
    word_counts_ : ndarray of int64, shape (n_words,)
        How often the text has each.
    objective_ : float
        −Σ log p of the training text's bigrams, in nats.
    history_ : list of dict
        iteration, seconds, objective, moved.
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> from fastlin.lm import WordClasses
    >>> text = ["the dog ran", "a dog sat", "the cat sat", "a cat ran"] * 5
    >>> classes = WordClasses(n_classes=6).fit(text)
    >>> classes.class_of("dog") == classes.class_of("cat") != classes.class_of("ran")
    True
    """

    _parameters: ClassVar[ParameterTable] = SENTENCES | {
        "n_classes": Integer(at_least=MARKS + 1), "max_iter": Integer(at_least=1), "tol": Real(at_least=0),
        "verbose": VERBOSE, "callback": Code(),
    }  # fmt: skip

    def __init__(
        self,
        n_classes: int = 100,
        *,
        max_iter: int = 20,
        tol: float = 0.005,
        min_count: int = 1,
        vocabulary: Sequence[str] | None = None,
        unk: str = "<unk>",
        unit: Unit = "word",
        markup: Markup = "raise",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.n_classes = n_classes
        self.max_iter = max_iter
        self.tol = tol
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.unk = unk
        self.unit = unit
        self.markup = markup
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Find the classes of the words of some sentences.

        Parameters
        ----------
        X : list of sentences, path, open file, or what `fastlin.data.read` returns
            As for `NgramModel`.
        y : ignored
        checkpoint : path, optional
            A file that says where the fit stands, written between two rounds.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every round.
        resume : bool
            Go on from the checkpoint, if it exists: the classes are those of a fit that never stopped.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        del y
        self._checked()
        state = counted_as(self, X, order=2)
        counts = state.known[1]
        data = {} if checkpoint is None else {"bigrams": counts.words, "starts": counts.starts, "counts": counts.counts}
        file = storage.Checkpoint(checkpoint, checkpoint_interval, resume, storage.identity(self, data))
        return self._fit_counts(*state.known, state.reader, file)

    def _checked(self) -> tuple[int, int, float]:
        """n_classes, max_iter and tol."""
        check_parameters(self)
        return int(self.n_classes), int(self.max_iter), float(self.tol)

    def _fit_counts(
        self,
        vocabulary: WordVocabulary,
        counts: NgramCounts,
        reader: SentenceReader,
        checkpoint: storage.Checkpoint | None = None,
    ) -> Self:
        """`fit`, from bigrams that were counted before."""
        n_classes, max_iter, tol = self._checked()
        model = self._working_copy()
        order, classes = _by_turns(counts, n_classes)
        constant = _entropy_terms(counts.counts[0][BEGIN + 1 :])

        def install() -> "WordClasses":
            model._state_of_fit = ClassState(vocabulary, counts.counts[0], classes.copy(), reader)
            return model

        monitor = FitMonitor(max_iter, make_callback(model, install), checkpoint)
        largest = int(classes.max())
        monitor.register_run("classes", ClassesOfWords(classes))
        exchange = _exchange(counts, classes, largest + 1)
        while not monitor.should_stop:
            monitor.maybe_save()
            moved = 0
            for start in range(0, len(order), WORDS_OF_A_CALL):
                moved += exchange.exchange(order[start : start + WORDS_OF_A_CALL])[0]
            objective = -exchange.objective() - constant
            monitor.iterations += 1
            monitor.converged = moved <= tol * len(order)
            monitor.log(objective=objective, moved=moved)
        model.history_, model.converged_, model.n_iter_ = monitor.history, monitor.converged, monitor.iterations
        last = monitor.history[-1]
        model.objective_ = last["objective"]
        self._take_fitted(install())
        if not (monitor.converged or monitor.stopped):
            warn_user(
                f"WordClasses: {last['moved']} of {len(order)} words moved in the last of max_iter={max_iter} rounds: "
                "raise max_iter or tol",
                ConvergenceWarning,
            )
        return self

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    @reads
    def words_(self) -> list[str]:
        """The words, the marks first."""
        return self._learnt.vocabulary.names

    @property
    @reads
    def word_classes_(self) -> NDArray[np.int32]:
        """The class of each word."""
        return self._learnt.classes

    @property
    @reads
    def word_counts_(self) -> NDArray[np.int64]:
        """How often the text has each word."""
        return self._learnt.counts

    @reads
    def class_of(self, word: str) -> int:
        """The class of a word; that of the unknown word, if it is not known.

        Parameters
        ----------
        word : str
            Any word.

        Returns
        -------
        int
            From 0 on.
        """
        if not isinstance(word, str):
            raise TypeError(f"a word is a string, got {word!r:.60}")
        learnt = self._learnt
        return int(learnt.classes[learnt.vocabulary.numbers.get(word, MARKS - 1)])

    @reads
    def members(self, number: int, n: int = 10) -> list[str]:
        """The most frequent words of a class.

        Parameters
        ----------
        number : int
            A class.
        n : int
            Words at most.

        Returns
        -------
        list of str
            By falling frequency.

        Raises
        ------
        ValueError
            If no word is in such a class.
        """
        learnt, number = self._learnt, whole_number("number", number, 0)
        inside = np.flatnonzero(learnt.classes == number)
        if not len(inside):
            raise ValueError(f"there is no word in class {number!r}: classes are 0 to {int(learnt.classes.max())}")
        best = inside[np.argsort(-learnt.counts[inside], kind="stable")][: whole_number("n", n, 1)]
        return [learnt.vocabulary.names[word] for word in best.tolist()]

    @learns
    def fit_transform(self, X: Any, y: Any = None) -> list[list[str]]:
        """`fit`, and the class of each word of the same sentences; of an open file there is but one reading.

        Parameters
        ----------
        X : list of sentences, path or open file
            What `fit` takes.
        y : None
            Ignored.

        Returns
        -------
        list of lists of str
            For each sentence the names of its words' classes.
        """
        X = list(X) if isinstance(X, Iterator) else X
        return self.fit(X, y).transform(X)

    @reads
    def transform(self, X: Any) -> list[list[str]]:
        """The class of each word, written "c17": a column of its own for the features of a tagger.

        Parameters
        ----------
        X : list of sentences, path or open file

        Returns
        -------
        list of lists of str
        """
        learnt, found = self._learnt, []
        names = np.array([f"c{number}" for number in range(int(learnt.classes.max()) + 1)], object)
        for tokens in learnt.reader.blocks(X, learnt.vocabulary.table, False):
            begins = np.append(np.flatnonzero(tokens == BEGIN), len(tokens)).tolist()
            column = names[learnt.classes[tokens]].tolist()
            found += [column[start + 1 : stop - 1] for start, stop in itertools.pairwise(begins)]
        return found


def _by_turns(counts: NgramCounts, n_classes: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The words but the marks, frequent ones first, and the class that each word begins in."""
    order = np.argsort(-counts.counts[0][MARKS:], kind="stable").astype(np.int32) + MARKS
    classes = np.arange(counts.n_words, dtype=np.int32)
    n_classes = min(n_classes, counts.n_words)  # more than there are words for stay empty
    classes[order] = MARKS + np.arange(len(order)) % max(1, n_classes - MARKS)
    return order, classes


def _exchange(counts: NgramCounts, classes: NDArray[np.int32], n_classes: int) -> kernels.ClassBigrams:
    """The class bigrams of a text, which an exchange of words between classes keeps up to date."""
    bigrams = _bigrams(counts)
    reserved = np.zeros(n_classes, np.uint8)
    reserved[:MARKS] = 1
    sizes = np.arange(TABLE_SIZE, dtype=np.float64)
    sizes[1:] *= np.log(sizes[1:])
    return kernels.ClassBigrams(_arrays(bigrams), _arrays(bigrams.T.tocsr()), sizes, classes, reserved)


def _bigrams(counts: NgramCounts) -> sp.csr_array:
    """Counts of bigrams as [history, word]."""
    n = counts.n_words
    return sp.csr_array((counts.counts[1], counts.words[1], counts.starts[1].astype(np.int64)), shape=(n, n))


def _arrays(matrix: Any) -> Bigrams:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


def _entropy_terms(counts: NDArray[np.int64]) -> float:
    """Σ n log n."""
    positive = counts[counts > 0].astype(np.float64)
    return float(positive @ np.log(positive))
