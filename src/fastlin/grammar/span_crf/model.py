"""`SpanCRF`: a conditional random field of trees, whose features are of rules and of spans."""

import warnings
from collections.abc import Callable
from itertools import compress
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import storage, validation
from fastlin.core.callbacks import make_callback
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_records import FitCertificate, FitRecord
from fastlin.grammar.binarize import Binarizer
from fastlin.grammar.constraints import Given, read_given
from fastlin.grammar.decoding import Constituent, Decoded
from fastlin.grammar.span_crf import online
from fastlin.grammar.span_crf.decoding import (
    SpanNBestDecoder,
    SpanRecallDecoder,
    SpanSumDecoder,
    SpanViterbiDecoder,
)
from fastlin.grammar.span_crf.objective import SpanObjective
from fastlin.grammar.span_crf.state import SpanState, learn_grammar
from fastlin.grammar.tree_form import TreeForm
from fastlin.grammar.tree_parser import Parses, TreeParser, as_sentences
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.solvers import lbfgs
from fastlin.runtime import parallel
from fastlin.validation import real_number, whole_number
from fastlin.validation.parameter_kinds import (
    ABSENT,
    RUN,
    TRUTH,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

Floats = NDArray[np.float64]
ITERATIONS = {"adagrad": 6, "perceptron": 10, "lbfgs": 200}  # where max_iter is None
MAX_PENALTY = 1e100  # of c2


class SpanCRF(TreeParser[SpanState]):
    """A conditional random field of trees (Finkel, Kleeman & Manning 2008; Hall, Durrett & Klein 2014).

    p(tree | words) = exp s(words, tree) / Z(words), normalised over all trees of the words, where

        s = Σ_rules θ_rule + Σ_constituents θ_label·f(span) + Σ_words θ_tag·f(word)

    The grammar is small, and features say what it does not: the words and tags at both ends of a span and around it,
    what all of it looks like, how long it is. Minimises Σ −log p(tree | words) + c2 ‖θ‖², or is an averaged structured
    perceptron (Collins 2002). A constituent and all that consists of it alone are at most one step: a chain of
    unary rules above the lowest of its labels is one symbol.

    Parameters
    ----------
    horizontal : int or None
        How many children before the next one a rule knows; None: all.
    vertical : int
        How many labels a symbol knows: 1 its own, 2 its parent's, too.
    remove_functions, remove_traces : bool
        Whether NP-SBJ-1 is NP, and whether -NONE- and what is empty without it are left out.
    min_count : int
        How often the trees must have a feature for it to have weights.
    rare_count : int
        Words no more frequent are what they look like.
    known_count : int
        Words that are more frequent have no tags but those that they were seen with; others may have any tag that
        words like these have.
    solver : {"adagrad", "lbfgs", "perceptron"}
        "lbfgs" reaches the optimum; "adagrad" approaches it by a step for every `batch_size` sentences.
    c2 : float
        The strength of the prior; the perceptron has none.
    max_iter : int or None
        Epochs, or iterations of "lbfgs"; None: 6 of "adagrad", 10 of "perceptron", 200 of "lbfgs".
    tol : float
        "lbfgs" ends at ‖g‖ ≤ tol · max(1, ‖θ‖), where g is the gradient of the objective; others where an epoch
        changes the mean loss of a sentence by less.
    eta0 : float
        The rate of "adagrad".
    batch_size : int
        Sentences whose derivatives are taken at the same weights; threads share them.
    decoding : {"recall", "viterbi"}
        Which tree `predict` finds: of the constituents that are expected most, or the most probable one.
    recall_threshold : float
        How probable a constituent must be to be worth predicting, between 0 and 1.
    unparsed : {"flat", "error"}
        A sentence without a tree has a flat one, with a warning; or is an error.
    max_memory : int
        Bytes that the chart of one sentence may take.
    random_state : int, RandomState, Generator or None
        For the order of the sentences.
    n_jobs : int or None
        Threads, over sentences; they never change a bit.
    verbose : int
        1 prints a line an iteration.
    callback : callable or None
        `callback(model, record)` after every record of `history_`; a true answer ends the fit.

    Attributes
    ----------
    symbols_ : list of str
    rules_ : list of (str, tuple of str, float)
        Left side, right side and weight of each rule but those of words, by left side and falling weight.
    n_rules_ : int
    words_ : list of str
        The words seen.
    coef_ : array
        θ: the weights of binary rules and of unary ones, in an order of their own, of whole sentences, of (feature of
        words, tag) and of (feature of spans, label) pairs.
    objective_ : float
        What was reached; of "adagrad" and "perceptron" the losses of the last epoch, each before its step.
    history_ : list of dict
        Of every iteration: seconds, objective, gradient_norm (‖g‖ / max(1, ‖θ‖)); of every epoch seconds and
        progressive_objective, of a perceptron also wrong, how many trees were not the right one.
    certificate_ : dict or None
        Of "lbfgs": objective, gradient_norm.
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> from fastlin.grammar import SpanCRF
    >>> trees = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN dog)) (VP (VBZ barks)))"]
    >>> model = SpanCRF(min_count=1, random_state=0).fit(trees)
    >>> print(model.predict(["the dog sleeps"])[0])
    (S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))
    """

    _parameters: ClassVar[ParameterTable] = RUN | {
        "horizontal": Integer(at_least=0) | ABSENT, "vertical": Integer(at_least=1),
        "remove_functions": TRUTH, "remove_traces": TRUTH,
        "min_count": Integer(at_least=1), "rare_count": Integer(at_least=0), "known_count": Integer(at_least=0),
        "solver": OneOf(*ITERATIONS), "c2": Real(at_least=0, at_most=MAX_PENALTY),
        "max_iter": Integer(at_least=1) | ABSENT, "tol": Real(at_least=0), "eta0": Real(above=0, below=np.inf),
        "batch_size": Integer(at_least=1), "decoding": OneOf("recall", "viterbi"), "recall_threshold": Real(above=0),
        "unparsed": OneOf("flat", "error"), "max_memory": Integer(at_least=1),
    }  # fmt: skip

    objective_: float
    history_: list[FitRecord]
    certificate_: FitCertificate | None
    converged_: bool
    n_iter_: int

    def __init__(
        self,
        *,
        horizontal: int | None = 1,
        vertical: int = 1,
        remove_functions: bool = True,
        remove_traces: bool = True,
        min_count: int = 2,
        rare_count: int = 1,
        known_count: int = 4,
        solver: Literal["adagrad", "perceptron", "lbfgs"] = "adagrad",
        c2: float = 0.5,
        max_iter: int | None = None,
        tol: float = 1e-3,
        eta0: float = 0.2,
        batch_size: int = 4,
        decoding: Literal["recall", "viterbi"] = "recall",
        recall_threshold: float = 0.4,
        unparsed: Literal["flat", "error"] = "flat",
        max_memory: int = 4 << 30,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.horizontal = horizontal
        self.vertical = vertical
        self.remove_functions = remove_functions
        self.remove_traces = remove_traces
        self.min_count = min_count
        self.rare_count = rare_count
        self.known_count = known_count
        self.solver = solver
        self.c2 = c2
        self.max_iter = max_iter
        self.tol = tol
        self.eta0 = eta0
        self.batch_size = batch_size
        self.decoding = decoding
        self.recall_threshold = recall_threshold
        self.unparsed = unparsed
        self.max_memory = max_memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    # Learning

    @learns
    def fit(
        self,
        trees: Any,
        y: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Learn from trees.

        Parameters
        ----------
        trees : list of trees, path or open file
            A tree is a `Tree`, a string of brackets, a nested tuple (label, child, …) or a tree of NLTK.
        y : ignored
        checkpoint : path, optional
            A file that says where the fit stands, written between two iterations.
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
        model, form = self._working_copy(), self._tree_form()
        given = list(form.cleaned(trees))
        usable = [tree for tree in given if tree is not None]
        if not usable:
            raise ValueError(f"there is nothing to learn from: {len(given)} trees, none of which has a word")
        grammar, known = learn_grammar(
            usable, form.binarizer(), int(self.min_count), int(self.rare_count), int(self.known_count),
            int(self.max_memory),
        )  # fmt: skip
        identity = {} if checkpoint is None else storage.identity(self, {}, trees=[str(tree) for tree in usable])
        file = storage.Checkpoint(checkpoint, checkpoint_interval, resume, identity)
        with parallel.WorkerPool(self.n_jobs) as workers:
            problem = SpanObjective(known, float(self.c2), workers)
            theta = np.zeros(problem.size)

            def install() -> SpanCRF:
                model._state_of_fit = SpanState(grammar, theta.copy(), form)
                return model

            max_iter = ITERATIONS[self.solver] if self.max_iter is None else int(self.max_iter)
            monitor = ConvergenceMonitor(self.tol, max_iter, 1.0, make_callback(model, install), file)
            generator = validation.as_generator(self.random_state)
            if self.solver == "lbfgs":
                lbfgs.minimise(problem, theta, monitor, generator)
            else:
                steps = self.solver, int(self.batch_size), float(self.eta0)
                online.learn(problem, theta, monitor, generator, *steps)
        self._take_fitted(install()._record(monitor))
        if not (monitor.converged or monitor.stopped) and (self.max_iter is not None or self.solver == "lbfgs"):
            text = f"The fit did not converge in {monitor.iterations} iterations to tol={self.tol}"
            warnings.warn(f"{text}: raise max_iter or tol, or give a larger c2.", ConvergenceWarning, stacklevel=3)
        return self

    def _record(self, monitor: ConvergenceMonitor) -> Self:
        """History and certificate."""
        self.history_, self.n_iter_, self.converged_ = monitor.history, monitor.iterations, monitor.converged
        last = monitor.history[-1]
        exact = "gradient_norm" in last
        self.objective_ = float(last["objective" if exact else "progressive_objective"])
        self.certificate_ = None
        if exact:
            self.certificate_ = {"objective": last["objective"], "gradient_norm": last["gradient_norm"]}
        return self

    def _tree_form(self) -> TreeForm:
        return TreeForm.of(self, False)

    # What there is

    @property
    @reads
    def symbols_(self) -> list[str]:
        grammar = self._learnt.grammar
        return [
            " → ".join(str(grammar.symbols[part]) for part in grammar.chains.symbols(number))
            for number in range(len(grammar.chains))
        ]

    @property
    @reads
    def coef_(self) -> Floats:
        return self._learnt.theta.copy()

    # Reading

    @reads
    def predict(self, X: Any, *, tags: Any = None) -> Parses:
        """The tree of each sentence.

        Parameters
        ----------
        X : list of sentences
            A sentence is a list of words, or a string that is split at white space.
        tags : list or None
            What is given of each sentence: None, or for each word a tag or None. A tree has these tags.

        Returns
        -------
        Parses
            A list of trees, with `unparsed`; its `log_joint` is s(words, tree), without log Z.
        """
        sentences = as_sentences(X)

        def decoder() -> Callable[[list[str], Given | None], Decoded]:
            if self.decoding == "viterbi":
                return SpanViterbiDecoder(*self._known())
            return SpanRecallDecoder(*self._known(), self.recall_threshold)

        parses = Parses(self._each(sentences, self._given(sentences, tags), decoder))
        if parses.unparsed:
            self._report_unparsed(parses.unparsed, sentences)
        return parses

    @reads
    def predict_nbest(self, X: Any, n: int = 10, *, tags: Any = None) -> list[Parses]:
        """The n most probable trees of each sentence, the best first; all that it has, if these are fewer.

        `tags` are given as to `predict`.

        Parameters
        ----------
        X : list of sentences
            Each a string or a list of words.
        n : int
            Trees a sentence, at most.
        tags : list of lists of str, optional
            The tag of each word, as for `predict`.

        Returns
        -------
        list of Parses
            For each sentence its trees, with their scores in `log_joint`.
        """
        whole_number("n", n, 1)
        sentences = as_sentences(X)
        given = self._given(sentences, tags)
        return [Parses(found) for found in self._each(sentences, given, lambda: SpanNBestDecoder(*self._known(), n))]

    @reads
    def predict_marginals(self, X: Any, min_probability: float = 1e-6, *, tags: Any = None) -> list[list[Constituent]]:
        """How often each constituent is expected in the tree of each sentence, by first word, last word and falling p.

        Constituents that are expected less than `min_probability` times are left out; tags are constituents, too.
        `tags` are given as to `predict`: expected is what is in trees that have them.

        Parameters
        ----------
        X : list of sentences
            Each a string or a list of words.
        min_probability : float
            The least expected number that is reported.
        tags : list of lists of str, optional
            The tag of each word, as for `predict`.

        Returns
        -------
        list of lists of Constituent
            For each sentence (label, first word, the one after the last, expected number).
        """
        real_number("min_probability", min_probability, at_least=0)
        sentences = as_sentences(X)

        def expecting() -> Callable[[list[str], Given | None], list[Constituent]]:
            decoder = SpanSumDecoder(*self._known())
            return lambda words, given: decoder.constituents(words, given, min_probability)

        return self._each(sentences, self._given(sentences, tags), expecting)

    @reads
    def log_proba(self, X: Any, trees: Any) -> Floats:
        """log p(tree | words) of each sentence and its tree; −∞ where the tree is of other words, or none there is.

        Parameters
        ----------
        X : list of sentences
            Each a string or a list of words.
        trees : list of trees
            One for each sentence, in whatever form `fit` takes them.

        Returns
        -------
        array of shape (n_sentences,)
            Natural logarithms, at most 0.
        """
        sentences = as_sentences(X)
        cleaned = self._cleaned_with(sentences, trees)

        def judging() -> Callable[[int], float]:
            decoder = SpanSumDecoder(*self._known())
            return lambda place: decoder.log_proba(cleaned[place], sentences[place])

        return np.array(self._each_place(sentences, judging), np.float64)

    def _known(self) -> tuple[SpanState, Binarizer]:
        """What was learnt, and a binarizer of one thread's own."""
        return self._learnt, self._learnt.form.binarizer(self._learnt.grammar.symbols)

    def _given(self, sentences: list[list[str]], tags: Any) -> list[Given | None]:
        """What is given of each sentence, proved."""
        grammar = self._learnt.grammar
        return read_given(sentences, tags, None, compress(grammar.labels, grammar.tag_labels), grammar.labels)
