"""`EditChannel`: words whose characters are left out, put in, changed or turned round."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.channel.edit_candidates import FARTHEST, EditCandidates
from fastlin.channel.edit_em import EditEM, WordPairs
from fastlin.channel.edit_model import ADD, DROP, SWAP, EditModel, EditRates
from fastlin.core.callbacks import make_callback
from fastlin.core.em_loop import EMEstimatorMixin, EMRun
from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.engine.channel.edit_lattice import EncodedWords
from fastlin.runtime.parallel import WorkerPool
from fastlin.validation import as_vector
from fastlin.validation.parameter_kinds import RUN, Integer, ParameterTable, Real, check_parameters

Floats = NDArray[np.float64]
LARGEST_ALPHA = 1e12
LARGEST_WEIGHT = 1e100  # sums of it over all pairs and their characters are finite
PAIRS_OF_A_JOB = 1 << 12
DECISIVE = "max_iter", "tol"


class EditAlignment(NamedTuple):
    """A way from a source word to an observed one: parts of both that belong together, and ln p of it.

    Attributes
    ----------
    parts : list of (str, str)
        Characters of the source and of what was observed; either string may be empty.
    log_prob : float
        ln p of this way alone.
    """

    parts: list[tuple[str, str]]
    log_prob: float


class EditChannel(EMEstimatorMixin, StatefulEstimator[EditModel]):
    """A channel of characters: p(observed word | source word), the sum over all ways to edit one into the other.

    In the gap behind a character c the channel inserts b with p(b | c), again and again, or stops; then it transposes
    the next two characters a, a' with a probability of theirs, or writes b, or nothing, in the place of a, with
    p(b | c, a). What is observed of a source sums to one over all strings. EM (Ristad & Yianilos 1998) finds the
    probabilities in pairs of words; contexts that were seen seldom are drawn to what is known without them.

    Parameters
    ----------
    max_edits : int
        How many edits away from an observed word its candidates may be, up to 3.
    alpha : float
        Strength of the Dirichlet priors, in pseudo-counts of each context; 0 is the maximum-likelihood estimate.
    max_iter : int
        Iterations at most.
    tol : float
        EM ends when an iteration raises the bound by no more than tol a pair.
    n_jobs : int or None
        Threads; they change no bit.
    verbose : int
        1 prints a line an iteration.
    callback : callable or None
        `callback(model, record)` after every iteration, when the model is as far; a true value ends the fit.

    Attributes
    ----------
    rates_ : EditRates
        Probabilities of an insertion, a deletion, a substitution and a transposition, whatever the characters.
    bound_ : ndarray of shape (n_iter_ + 1,)
        ln of likelihood and prior at the start and after each iteration; it never falls.
    objective_ : float
        −bound_[-1].
    history_ : list of dict
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> from fastlin.channel import EditChannel
    >>> pairs = [("the", "teh"), ("their", "thier"), ("separate", "seperate"), ("really", "realy")] * 5
    >>> channel = EditChannel().fit(pairs)
    >>> likely, unlikely = channel.log_proba(["weird", "weird"], ["wierd", "wqird"])
    >>> bool(likely > unlikely)
    True
    >>> channel.best_alignment("their", "thier").parts
    [('t', 't'), ('h', 'h'), ('ei', 'ie'), ('r', 'r')]
    """

    _parameters: ClassVar[ParameterTable] = {
        "max_edits": Integer(at_least=1, at_most=FARTHEST), "alpha": Real(at_least=0, at_most=LARGEST_ALPHA),
        "max_iter": Integer(at_least=1), "tol": Real(at_least=0),
        **{name: RUN[name] for name in ("n_jobs", "verbose", "callback")},
    }  # fmt: skip

    def __init__(
        self,
        max_edits: int = 2,
        *,
        alpha: float = 10.0,
        max_iter: int = 30,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.max_edits = max_edits
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Find the probabilities of edits.

        Parameters
        ----------
        X : list of (source, observed)
            Pairs of words.
        y : ignored
        sample_weight : array of shape (n_pairs,), optional
            How often each was seen.
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
        pairs = _as_pairs(X, sample_weight)
        model = self._working_copy()
        data = {} if checkpoint is None else vars(pairs)
        limits = {name: getattr(self, name) for name in DECISIVE}
        file = storage.Checkpoint(checkpoint, checkpoint_interval, resume, storage.identity(self, data, **limits))
        monitor = FitMonitor(int(self.max_iter), checkpoint=file)

        def install(learnt: EditModel) -> "EditChannel":
            model._state_of_fit = learnt
            return model

        with WorkerPool(self.n_jobs) as workers:
            em = EditEM(pairs, float(self.alpha), workers)
            monitor.report = make_callback(model, lambda: install(em.counts()))
            run = EMRun(em, monitor, float(self.tol)).run(em.begin)
        self._take_fitted(install(run.counts)._record_fit(run))
        self._warn_of_run(run)
        return self

    def _describe_components(self, components: set[int]) -> str:
        raise AssertionError(f"there are no components, so that {components} cannot die")

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    @reads
    def rates_(self) -> EditRates:
        """Probabilities of edits, whatever the characters."""
        return self._learnt.rates

    @reads
    def log_proba(self, sources: Any, observed: Any) -> Floats:
        """ln p(observed | source) of pairs of words, the sum over all ways to edit one into the other.

        Parameters
        ----------
        sources, observed : list of str
            As many of one as of the other.

        Returns
        -------
        ndarray of float64, shape (n_pairs,)
        """
        x, y = _as_words("sources", sources), _as_words("observed", observed)
        if len(x) != len(y):
            raise ValueError(f"sources and observed must be as many, got {len(x)} and {len(y)}")
        places = np.arange(len(x), dtype=np.int32)
        return self.score_pairs(self.encode(x), places, self.encode(y), places)

    @reads
    def score_samples(self, X: Any) -> Floats:
        """`log_proba` of pairs (source, observed).

        Parameters
        ----------
        X : list of (str, str)
            Pairs of a source word and an observed one.

        Returns
        -------
        array of shape (n_pairs,)
            ln p(observed | source) of each pair; −∞ where no edits lead from one to the other.
        """
        pairs = _listed_pairs(X)
        return self.log_proba([source for source, _ in pairs], [observed for _, observed in pairs])

    @reads
    def encode(self, words: Sequence[str]) -> EncodedWords:
        """Words as `score_pairs` takes them: who asks for the same words again encodes them once.

        Parameters
        ----------
        words : sequence of str
            Words of any characters; those that the channel has not learnt count as unknown.

        Returns
        -------
        EncodedWords
            The characters of all words as numbers of this channel's alphabet; another fit makes them invalid.
        """
        return self._learnt.encode(_as_words("words", words))

    @reads
    def score_pairs(
        self, sources: EncodedWords, source_places: Any, observed: EncodedWords, observed_places: Any
    ) -> Floats:
        """ln p(observed | source) of pairs of encoded words, each given by its places among these.

        Parameters
        ----------
        sources : EncodedWords
            Source words, as `encode` returns them.
        source_places : array of int of shape (n_pairs,)
            Which of the sources each pair has.
        observed : EncodedWords
            Observed words, as `encode` returns them.
        observed_places : array of int of shape (n_pairs,)
            Which of the observed words each pair has.

        Returns
        -------
        array of shape (n_pairs,)
            ln p(observed | source) of each pair.

        Raises
        ------
        TypeError
            If the words were not encoded.
        ValueError
            If another channel has encoded them, or this one before it was fitted again.
        """
        model = self._learnt
        for name, words in (("sources", sources), ("observed", observed)):
            if not isinstance(words, EncodedWords):
                raise TypeError(f"{name} must be words that `encode` has encoded, got {words!r:.60}")
            if not model.has_encoded(words):
                raise ValueError(
                    f"{name} must be words that `encode` of this channel has encoded, got words of another alphabet: "
                    "of another channel, or of this one before it was fitted again"
                )
        x, y = _as_places("source_places", source_places), _as_places("observed_places", observed_places)
        if x.shape != y.shape:
            raise ValueError(f"places must be vectors of one length, got shapes {x.shape} and {y.shape}")
        cuts = [slice(start, start + PAIRS_OF_A_JOB) for start in range(0, len(x), PAIRS_OF_A_JOB)]
        with WorkerPool(self.n_jobs) as workers:
            found = workers.map(lambda cut: model.score(sources, x[cut], observed, y[cut]), [(cut,) for cut in cuts])
        return np.concatenate([np.empty(0), *found])

    @reads
    def bound_to(self, words: Sequence[str]) -> EditCandidates:
        """The channel with the words of a dictionary as its sources, as `NoisyChannel` asks for it.

        Its method `candidates(observed)` returns (word, ln p(observed | word)) of the words that are no more than
        `max_edits` from an observed one. The index that finds them is kept until another dictionary is asked for.

        Parameters
        ----------
        words : sequence of str
            The dictionary; a word that comes twice counts once.

        Returns
        -------
        EditCandidates
            What has `candidates` and `candidates_many`; the same object while dictionary and `max_edits` are the same.
        """
        words = list(dict.fromkeys(_as_words("words", words)))
        model, max_edits = self._learnt, int(self.max_edits)
        last: EditCandidates | None = model.__dict__.get("last_candidates")
        if last is None or last.max_edits != max_edits or last.words != words:
            last = model.__dict__["last_candidates"] = EditCandidates(model, words, max_edits)
        return last

    @reads
    def best_alignment(self, source: str, observed: str) -> EditAlignment:
        """The most probable way from a source word to an observed one: its parts, and ln p of it.

        Parameters
        ----------
        source : str
            The word that was meant.
        observed : str
            The word that was written.

        Returns
        -------
        EditAlignment
            `parts`, pairs of the characters that belong together, either may be empty; and `log_prob`, ln p of this one
            way.
        """
        for name, word in (("source", source), ("observed", observed)):
            if not isinstance(word, str):
                raise TypeError(f"{name} must be a string, got {word!r:.60}")
        log_prob, steps = self._learnt.align(source, observed)
        parts, i, j = [], 0, 0
        for step in steps.tolist():
            n = 2 if step == SWAP else 1
            before = i, j
            i, j = i + (0 if step == ADD else n), j + (0 if step == DROP else n)
            parts.append((source[before[0] : i], observed[before[1] : j]))
        return EditAlignment(parts, log_prob)


def _as_places(name: str, places: Any) -> NDArray[np.int32]:
    """Places among words, as the kernel has them."""
    found = np.asarray(places)
    if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
        raise TypeError(f"{name} must be a vector of whole numbers, got {places!r:.60}")
    if len(found) and not 0 <= found.min() <= found.max() < 2**31:
        raise ValueError(f"{name} must be places of words: {found.min()} to {found.max()} are not there")
    return np.ascontiguousarray(found, np.int32)


def _as_words(name: str, words: Any) -> list[str]:
    """A list of strings."""
    if isinstance(words, str | bytes | Mapping) or not isinstance(words, Iterable):
        raise TypeError(f"{name} must be a list of words, got {words!r:.60}")
    found = list(words)
    for place, word in enumerate(found):
        if not isinstance(word, str):
            raise TypeError(f"{name}[{place}] must be a string, got {word!r:.60}")
    return found


def _listed_pairs(X: Any) -> list[tuple[str, str]]:
    """A list of pairs of strings."""
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of pairs (source, observed), got {X!r:.60}")
    found = list(X)
    for place, pair in enumerate(found):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(word, str) for word in pair):
            raise TypeError(f"X[{place}] must be a pair of strings (source, observed), got {pair!r:.60}")
    return found


def _as_pairs(X: Any, sample_weight: Any) -> WordPairs:
    """Pairs of words, of which there is one, and their weights."""
    found = _listed_pairs(X)
    if not found:
        raise ValueError("X is empty: there is no pair to learn from")
    weights = np.ones(len(found)) if sample_weight is None else as_vector(sample_weight, "sample_weight")
    if len(weights) != len(found) or (weights < 0).any() or not 0 < weights.max() <= LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must be {len(found)} numbers from 0 to {LARGEST_WEIGHT:g}, some of them above 0"
        )
    counted = weights > 0
    kept = [pair for pair, counts in zip(found, counted.tolist(), strict=True) if counts]
    return WordPairs.of([source for source, _ in kept], [observed for _, observed in kept], weights[counted])
