"""`LexicalChannel`: words of one language as those of another, IBM's Models 1 and 2."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.channel.base import Channel, Pair
from fastlin.channel.decoding import Decoding
from fastlin.channel.lexical_em import LexicalEM, LexicalParameters
from fastlin.channel.lexical_model import LexicalModel, Links
from fastlin.channel.sentence_pairs import SentencePairs, joined, read_pairs, read_sentences
from fastlin.channel.source import as_source
from fastlin.channel.translation import SourceSearch
from fastlin.core.callbacks import make_callback
from fastlin.core.em_loop import EMEstimatorMixin, EMRun
from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.lm.sentences import MARKUPS, ReadsSentences, SentenceReader
from fastlin.lm.vocabulary import BEGIN, MARKS, UNKNOWN, WordVocabulary, marks
from fastlin.runtime.parallel import WorkerPool
from fastlin.validation.choices import Markup
from fastlin.validation.parameter_kinds import (
    ABSENT,
    BOOL,
    JOBS,
    VERBOSE,
    Code,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)
from fastlin.validation.parameters import real_number, whole_number

Floats = NDArray[np.float64]
LARGEST_ALPHA = 1e12
LARGEST_WEIGHT = 1e6
LONGEST_SOURCE = 10_000  # words that `decode` looks for
ALIGNMENTS = "table", "diagonal"


def _length(max_length: Any) -> int:
    """`max_length` as an int; ValueError: longer than any source is looked for."""
    if whole_number("max_length", max_length, 0) > LONGEST_SOURCE:
        raise ValueError(f"max_length must be at most {LONGEST_SOURCE}, got {max_length!r}")
    return int(max_length)


class LexicalChannel(ReadsSentences, EMEstimatorMixin, StatefulEstimator[LexicalModel], Channel):
    """IBM's Models 1 and 2 (Brown et al. 1993): each observed word is of one word of the source, p(f | e) by EM.

    p(f₁ … f_m | e₁ … e_l) = p(m | l) Π_j Σ_i a(i | j, l, m) t(f_j | e_i), where e₀ is NULL, of which words are that no
    word of the source explains. Model 1 has a = 1 / (l + 1); its likelihood is the same from any start. Model 2 learns
    a from the positions, beginning with what Model 1 has found. EM climbs to a maximum of the likelihood plus
    α Σ log t. The number of words is Poisson's, in proportion to that of the source.

    Parameters
    ----------
    model : {1, 2}
        Model 1 knows no positions of words, Model 2 does.
    alignment : {"table", "diagonal"}
        Of Model 2: a number for each pair of positions in sentences of the same lengths, or two for all of them, which
        prefer words near the diagonal (Dyer, Chahuneau & Smith 2013).
    null : bool
        Whether sources have a NULL.
    alpha : float
        Pseudo-counts of each observed word for each source word; with 0, a word that was never observed beside a word
        is impossible there.
    start_iter : int
        Iterations of Model 1 before those of Model 2.
    n_candidates : int or None
        How many source words `candidates` has for an observed one, those of the highest p(source, observed); None: all
        that it was seen beside.
    max_iter : int
        Iterations at most.
    tol : float
        EM ends when an iteration raises the bound by no more than tol an observed word.
    markup : {"raise", "keep"}
        What is to be done with "<s>", "</s>" and "<unk>" in sentences: an error, or the first two are left out and the
        last is the unknown word.
    n_jobs : int or None
        Threads; they change no bit.
    verbose : int
        1 prints a line an iteration.
    callback : callable or None
        `callback(model, record)` after every iteration, when the model is as far; a true value ends the fit.

    Attributes
    ----------
    source_words_ : list of str
        The words of the sources, in the order in which they came.
    observed_words_ : list of str
        Likewise.
    length_ratio_ : float
        Words observed for each word of a source, NULL included.
    bound_ : ndarray of shape (n_iter_ + 1,)
        Σ log p(f | e, m) + α Σ log t of the start and after each iteration; it never falls.
    objective_ : float
        −bound_[-1].
    history_ : list of dict
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> from fastlin.channel import LexicalChannel
    >>> pairs = [("the house", "la casa"), ("the book", "el libro"), ("a book", "un libro")]
    >>> pairs.append(("the green house", "la casa verde"))
    >>> model = LexicalChannel(alpha=0).fit(pairs)
    >>> model.translations("book", 1)[0][0]
    'libro'
    >>> model.predict([("a green house", "una casa verde")])
    [[(2, 1), (1, 2)]]
    """

    _parameters: ClassVar[ParameterTable] = {
        "model": Integer(at_least=1, at_most=2), "alignment": OneOf(*ALIGNMENTS), "null": BOOL,
        "alpha": Real(at_least=0, at_most=LARGEST_ALPHA), "start_iter": Integer(at_least=0),
        "n_candidates": Integer(at_least=1) | ABSENT, "max_iter": Integer(at_least=1), "tol": Real(at_least=0),
        "markup": OneOf(*MARKUPS), "n_jobs": JOBS, "verbose": VERBOSE, "callback": Code(),
    }  # fmt: skip

    def __init__(
        self,
        model: int = 1,
        *,
        alignment: Literal["table", "diagonal"] = "table",
        null: bool = True,
        alpha: float = 0.001,
        start_iter: int = 5,
        n_candidates: int | None = 50,
        max_iter: int = 100,
        tol: float = 1e-3,
        markup: Markup = "raise",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.model = model
        self.alignment = alignment
        self.null = null
        self.alpha = alpha
        self.start_iter = start_iter
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.tol = tol
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
        """Learn t(f | e), and a(i | j, l, m) of Model 2, from pairs of sentences.

        Parameters
        ----------
        X : list of (source, observed)
            Two sentences each: strings, split at white space, or lists of words.
        y : ignored
        checkpoint : path, optional
            A file that says where EM stands, written between two iterations.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every iteration.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        del y
        check_parameters(self)
        model, null = self._working_copy(), bool(self.null)
        tables = WordVocabulary.of(marks(None)).new_table(), WordVocabulary.of(marks(None)).new_table()
        reader = SentenceReader(keep_marks=self.markup == MARKUPS[1])
        pairs = joined(read_pairs(X, tables, True, null, reader))
        pairs.prove_explained()
        source, observed = map(WordVocabulary.of_table, tables)
        data = {} if checkpoint is None else vars(pairs) | {"words": [source.names, observed.names]}
        file = storage.Checkpoint(checkpoint, checkpoint_interval, resume, storage.identity(self, data))
        counts = np.bincount(pairs.source, minlength=len(source))
        ratio = len(pairs.observed) / len(pairs.source)

        def install(found: LexicalParameters) -> "LexicalChannel":
            model._state_of_fit = LexicalModel(
                source, observed, found.table, found.alignment, reader, null, ratio, counts
            )
            return model

        with WorkerPool(self.n_jobs) as workers:
            kind = self.alignment if self.model == 2 else "uniform"
            em = LexicalEM(pairs, len(source), len(observed), float(self.alpha), kind, null, workers)
            monitor = FitMonitor(self.max_iter, make_callback(model, lambda: install(em.counts())), file)
            run = EMRun(em, monitor, self.tol).run(lambda: em.start(int(self.start_iter) if self.model == 2 else 0))
        self._take_fitted(install(run.counts)._record_fit(run))
        self._warn_of_run(run)
        return self

    def _describe_components(self, components: set[int]) -> str:
        return f"{len(components)} tables"

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    @reads
    def source_words_(self) -> list[str]:
        """The words of the sources."""
        return self._learnt.source.names[MARKS:]

    @property
    @reads
    def observed_words_(self) -> list[str]:
        """The words that were observed."""
        return self._learnt.observed.names[MARKS:]

    @property
    @reads
    def length_ratio_(self) -> float:
        """Words observed for each word of a source."""
        return self._learnt.ratio

    def _source_number(self, word: Any) -> int:
        """The number of a source word, None standing for NULL."""
        learnt = self._learnt
        if word is None:
            if not learnt.null:
                raise ValueError("word must be a string, got None: this channel has no NULL")
            return BEGIN
        if not isinstance(word, str):
            raise TypeError(f"word must be a string, or None for NULL, got {word!r:.60}")
        return max(learnt.source.numbers.get(word, UNKNOWN), UNKNOWN)

    @reads
    def translations(self, word: str | None, n: int = 10) -> list[tuple[str, float]]:
        """The n most probable observed words of a source word, each with its t, best first; None stands for NULL.

        Parameters
        ----------
        word : str or None
            A source word; one that was not learnt is taken for the unknown word, None is the empty word NULL.
        n : int
            Words at most.

        Returns
        -------
        list of (str, float)
            Observed words and t(observed | word), falling.

        Raises
        ------
        ValueError
            If NULL is asked of a channel that has none.
        """
        n, learnt = whole_number("n", n, 1), self._learnt
        words, t = learnt.table.row(self._source_number(word))
        best = np.argsort(-t, kind="stable")[:n]
        return [(learnt.observed.names[words[place]], float(t[place])) for place in best.tolist()]

    @reads
    def word_proba(self, source: str | None, observed: str) -> float:
        """t(observed | source); None stands for NULL.

        Parameters
        ----------
        source : str or None
            A source word; None is the empty word NULL.
        observed : str
            An observed word; one that was not learnt is taken for the unknown word.

        Returns
        -------
        float
            t(observed | source), from 0 to 1.
        """
        learnt, number = self._learnt, self._source_number(source)
        if not isinstance(observed, str):
            raise TypeError(f"observed must be a string, got {observed!r:.60}")
        other = max(learnt.observed.numbers.get(observed, UNKNOWN), UNKNOWN)
        return float(learnt.table.lookup(np.array([number], np.int32), np.array([other], np.int32))[0, 0])

    @reads
    def candidates(self, observed: str) -> list[Pair]:
        """(source, ln t(observed | source)) of the source words that an observed word was seen beside.

        What makes it a channel of `NoisyChannel`: each observed word is taken to be of one source word, in their order.

        Parameters
        ----------
        observed : str
            An observed word.

        Returns
        -------
        list of (str, float)
            At most `n_candidates` source words with ln t(observed | source); none for a word that was not learnt.
        """
        check_parameters(self)
        learnt = self._learnt
        number = learnt.observed.numbers.get(observed, UNKNOWN)
        if number <= UNKNOWN:
            return []
        words, t = learnt.sources_of(number, self.n_candidates)
        names = learnt.source.names
        return [(names[word], log_t) for word, log_t in zip(words.tolist(), np.log(t).tolist(), strict=True)]

    # --- pairs of sentences ------------------------------------------------------------------------------------------

    def _pairs(self, X: Any) -> Iterator[SentencePairs]:
        learnt = self._learnt
        return read_pairs(X, (learnt.source.table, learnt.observed.table), False, learnt.null, learnt.reader)

    def _each(self, X: Any) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        for block in self._pairs(X):
            yield from block

    @reads
    def log_proba(self, X: Any) -> Floats:
        """ln p(f | e) of each pair, the sum over all alignments, the number of observed words included.

        Parameters
        ----------
        X : list of (source, observed)

        Returns
        -------
        ndarray of float64, shape (n_pairs,)
        """
        learnt = self._learnt
        found = [
            learnt.log_prob_of_length(len(source), len(observed)) + learnt.log_prob_of_words(source, observed)
            for source, observed in self._each(X)
        ]
        return np.array(found, np.float64)

    @reads
    def score(self, X: Any, y: Any = None) -> float:
        """Mean ln p of an observed word, given the source and how many there are: higher is better. `y` is ignored.

        Parameters
        ----------
        X : list of (source, observed)
            Pairs of sentences, each a string or a list of words.
        y : None
            Ignored.

        Returns
        -------
        float
            Nats a word, at most 0.

        Raises
        ------
        ValueError
            If there is no observed word.
        """
        del y
        learnt, total, n = self._learnt, 0.0, 0
        for source, observed in self._each(X):
            total += learnt.log_prob_of_words(source, observed)
            n += len(observed)
        if not n:
            raise ValueError("pairs must hold an observed word at least, got none")
        return total / n

    @reads
    def perplexity(self, X: Any) -> float:
        """exp of −`score`: among how many words the source leaves the choice.

        Parameters
        ----------
        X : list of (source, observed)
            Pairs of sentences, each a string or a list of words.

        Returns
        -------
        float
            From 1 on; the lower, the better.
        """
        return float(np.exp(-self.score(X)))

    @reads
    def predict(self, X: Any) -> list[Links]:
        """The most probable alignment of each pair: links (i, j) of source word i and observed word j, from 0 on.

        Words of NULL have no link. `write_links` makes Pharaoh's format of them, `symmetrize` one of two directions.

        Parameters
        ----------
        X : list of (source, observed)
            Pairs of sentences, each a string or a list of words.

        Returns
        -------
        list of lists of (int, int)
            The links of each pair, in the order of the observed words.
        """
        return [self._learnt.best_links(source, observed) for source, observed in self._each(X)]

    @reads
    def predict_marginals(self, X: Any) -> list[Floats]:
        """p(observed word j is of source word i) of each pair: [words of the source, NULL first, observed words].

        Parameters
        ----------
        X : list of (source, observed)
            Pairs of sentences, each a string or a list of words.

        Returns
        -------
        list of arrays of shape (1 + n_source_words, n_observed_words)
            Each column sums to 1: an observed word is of one source word, or of NULL.
        """
        return [self._learnt.posteriors(source, observed) for source, observed in self._each(X)]

    # --- sources of sentences ----------------------------------------------------------------------------------------

    @reads
    def decode(
        self,
        X: Iterable[Any],
        source: Any,
        n_best: int = 1,
        *,
        beam: int | None = 32,
        n_candidates: int | None = 10,
        max_length: int | None = None,
        source_weight: float = 1.0,
    ) -> list[Any]:
        """The most probable sources of whole sentences, words in any order: argmax p(e) · p(f | e).

        Parameters
        ----------
        X : list of sentences
            What was observed: strings or lists of words.
        source : LanguageModel
            p(e), as `NoisyChannel` takes it.
        n_best : int
            How many sources of each.
        beam : int or None
            Hypotheses that are kept of each length; None: all, and what is found is the best there is.
        n_candidates : int or None
            Source words for each observed one; None: all words of the sources. Should no source be made of them, the
            most frequent words of the sources are tried.
        max_length : int or None
            Words of a source at most, up to 10,000; None: as many as are not improbable for so many observed words.
        source_weight : float
            The power of p(e).

        Returns
        -------
        list of Decoding
            `words` and `log_prob`, source_weight · ln p(e) + ln p(f | e), of each sentence; a list of at most n_best of
            them, best first, if n_best is more than 1. Words that were never seen are of any source word, and do not
            stand in the answer. A sentence for which no source is found, as if none can have become it, is as it
            was observed, with −∞.
        """
        n_best, learnt = whole_number("n_best", n_best, 1), self._learnt
        search = SourceSearch(
            learnt,
            as_source(source),
            None if beam is None else whole_number("beam", beam, 1),
            None if n_candidates is None else whole_number("n_candidates", n_candidates, 1),
            None if max_length is None else _length(max_length),
            real_number("source_weight", source_weight, at_least=0.0, at_most=LARGEST_WEIGHT),
        )
        found = []
        for words, observed in read_sentences(X, learnt.observed.table, learnt.reader):
            best = search.decode(observed, n_best) or [Decoding(words, -np.inf)]
            found.append(best[0] if n_best == 1 else best)
        return found
