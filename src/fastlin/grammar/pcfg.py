"""Probabilistic context-free grammars: counted where trees are known."""

import math
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import storage
from fastlin.core.callbacks import make_callback
from fastlin.core.em_loop import EM
from fastlin.core.estimator import learns, reads
from fastlin.grammar.dirichlet import draw_probabilities, pseudo_counts
from fastlin.grammar.em_start import CountedTrees
from fastlin.grammar.from_hmm import hmm_rules
from fastlin.grammar.inside_outside_em import RelativeFrequencies, RuleEstimator
from fastlin.grammar.lexicon import Lexicon, LexiconOptions, TagScorer
from fastlin.grammar.loglinear_rules import MAX_ITERATIONS, TOL, LogLinearRules, rule_features, total_of
from fastlin.grammar.notation import binary_grammar, read_rules
from fastlin.grammar.rules import RuleCounter, RuleCounts, RuleTable, log_probabilities
from fastlin.grammar.state import GrammarState
from fastlin.grammar.tree_form import TreeForm
from fastlin.grammar.unlabeled import UnlabeledLearner
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.sequence.hmm.model import HMM
from fastlin.sequence.hmm.unknown_words import WORD_CLASSES
from fastlin.validation import as_generator
from fastlin.validation.parameter_kinds import (
    ABSENT,
    LABEL_WEIGHTS,
    TRUTH,
    Code,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

Floats = NDArray[np.float64]


class PCFG(UnlabeledLearner):
    """A probabilistic context-free grammar.

    p(words, tree) = Π p(rule | its left side), over the rules by which the tree derives the words. Trees are cleaned of
    functions and traces, their symbols are told what is above and before them, and constituents of many children are
    made from left to right; predicted trees have none of this.

    Parameters
    ----------
    horizontal : int or None
        How many children before the next one a rule knows; None: all.
    vertical : int
        How many labels a symbol knows: 1 its own, 2 its parent's, too.
    split_tags : bool
        Whether this holds for tags.
    remove_functions, remove_traces : bool
        Whether NP-SBJ-1 is NP, and whether -NONE- and what is empty without it are left out.
    alpha : float
        Pseudo-counts of each rule that was seen; 0 is the maximum-likelihood estimate. So many of a left side are the
        mean of a Dirichlet distribution after what was counted.
    base_measure : mapping, callable or None
        ρ(left, right), by which the pseudo-counts α ρ of rules differ: a function of the names of the left side and of
        those of the right side, or a mapping from such pairs, where others have 0. Right sides of tags are empty. None:
        1 for all.
    rules : {"counts", "loglinear"}
        Whether probabilities of rules are counts, with pseudo-counts, divided by those of the left side, or
        p(rule | left side) ∝ e^(θ·f(rule)) with the features of `rule_features` and a Gaussian prior.
    prior_variance : float
        σ² of the weights of "loglinear"; inf: no prior.
    rule_features : callable or None
        f(left side, right side) of "loglinear", symbols with `label`, `above` and `before`: what is yielded are the
        names of indicators. None: labels of a rule, all together, alone and in pairs, with what its left side knows and
        without.
    unknown : {"signature", "suffix", "shape"} or None
        Words that were never seen, or no more than `rare_count` times, have the tags of the rare words that are like
        them; None: no tag.
    rare_count : int
    word_alpha : float
        Pseudo-counts of every known word, for the tags it would be guessed to have.
    tag_alpha : float
        Pseudo-counts of a tag that was split, for the words of the whole one.
    decoding : {"recall", "viterbi"}
        Which tree `predict` finds: of the constituents that are expected most, or the most probable one.
    recall_threshold : float
        How probable a constituent must be to be worth predicting, between 0 and 1: see `RecallParser`.
    pruning : {"beam"} or None
        Whether `predict` leaves out symbols that are much less probable than the best over the same words: faster, but
        the tree need not be the best one. What it finds no tree for is parsed again without.
    pruning_threshold : float
        How much less, as the logarithm of p of the words, times how often the symbol is used.
    unparsed : {"flat", "error"}
        A sentence without a tree has a flat one, with a warning; or is an error.
    n_symbols : int or None
        Symbols of the random grammar with which `fit_unlabeled` begins, if there is no other.
    n_init : int
        Random grammars to begin with; what the best leads to is kept.
    max_iter : int
        Iterations of EM at most.
    tol : float
        EM ends when an iteration raises the bound by no more than tol a word.
    random_state : int, RandomState, Generator or None
        Seed of random grammars.
    max_memory : int
        Bytes that the chart of one sentence may take, and the rules of a random grammar.
    n_jobs : int or None
        Threads, over sentences; they never change a bit.
    verbose : int
        1 prints a line an iteration.
    callback : callable or None
        `callback(model, record)` after every iteration, when the model is as far; a true value ends the fit.

    Attributes
    ----------
    symbols_ : list of str
    rules_ : list of (str, tuple of str, float)
        Left side, right side and log p of each rule but those of words, by left side and falling p.
    n_rules_ : int
    words_ : list of str
        The words seen.
    bound_ : ndarray of shape (n_iter_ + 1,)
        Of `fit_unlabeled`: log p of the sentences and the known trees, with what the prior says of the rules, at the
        start and after each iteration; it never falls.
    restart_scores_ : array of shape (n_runs,)
        Where each start ended: its last bound.
    objective_ : float
        −bound_[-1].
    history_ : list of dict
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> from fastlin.grammar import PCFG
    >>> trees = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN dog)) (VP (VBZ barks)))"]
    >>> grammar = PCFG(rare_count=0).fit(trees)
    >>> print(grammar.predict(["the dog sleeps"])[0])
    (S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))
    """

    _parameters: ClassVar[ParameterTable] = EM | {
        "horizontal": Integer(at_least=0) | ABSENT, "vertical": Integer(at_least=1), "split_tags": TRUTH,
        "remove_functions": TRUTH, "remove_traces": TRUTH, "alpha": Real(at_least=0, below=math.inf),
        "base_measure": Code(LABEL_WEIGHTS | ABSENT), "rules": OneOf("counts", "loglinear"),
        "prior_variance": Real(above=0), "rule_features": Code(),
        "unknown": OneOf(*WORD_CLASSES) | ABSENT, "rare_count": Integer(at_least=0),
        "word_alpha": Real(at_least=0, below=math.inf), "tag_alpha": Real(at_least=0, below=math.inf),
        "decoding": OneOf("recall", "viterbi"), "recall_threshold": Real(above=0),
        "pruning": OneOf("beam") | ABSENT, "pruning_threshold": Real(above=0), "unparsed": OneOf("flat", "error"),
        "max_memory": Integer(at_least=1), "n_symbols": Integer(at_least=1) | ABSENT,
    }  # fmt: skip

    def __init__(
        self,
        *,
        horizontal: int | None = 1,
        vertical: int = 2,
        split_tags: bool = True,
        remove_functions: bool = True,
        remove_traces: bool = True,
        alpha: float = 0.0,
        base_measure: Any = None,
        rules: Literal["counts", "loglinear"] = "counts",
        prior_variance: float = 1.0,
        rule_features: Any = None,
        unknown: Literal["shape", "suffix", "signature"] | None = "signature",
        rare_count: int = 1,
        word_alpha: float = 0.1,
        tag_alpha: float = 0.1,
        decoding: Literal["recall", "viterbi"] = "recall",
        recall_threshold: float = 0.4,
        pruning: Literal["beam"] | None = None,
        pruning_threshold: float = 10.0,
        unparsed: Literal["flat", "error"] = "flat",
        n_symbols: int | None = None,
        n_init: int = 1,
        max_iter: int = 50,
        tol: float = 1e-3,
        random_state: Any = None,
        max_memory: int = 4 << 30,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.horizontal = horizontal
        self.vertical = vertical
        self.split_tags = split_tags
        self.remove_functions = remove_functions
        self.remove_traces = remove_traces
        self.alpha = alpha
        self.base_measure = base_measure
        self.rules = rules
        self.prior_variance = prior_variance
        self.rule_features = rule_features
        self.unknown = unknown
        self.rare_count = rare_count
        self.word_alpha = word_alpha
        self.tag_alpha = tag_alpha
        self.decoding = decoding
        self.recall_threshold = recall_threshold
        self.pruning = pruning
        self.pruning_threshold = pruning_threshold
        self.unparsed = unparsed
        self.n_symbols = n_symbols
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    # Learning

    @learns
    def fit(
        self,
        trees: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's signature
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Count the rules of trees.

        Parameters
        ----------
        trees : list of trees, path or open file
            A tree is a `Tree`, a string of brackets, a nested tuple (label, child, …) or a tree of NLTK.
        y : ignored
        checkpoint : path, optional
            A file that says where the fit of log-linear rules stands; counting makes none.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every iteration.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            The fitted grammar.
        """
        check_parameters(self)
        model = self._working_copy()
        model._forget_fit()
        state = self._count(trees).state
        named = {} if checkpoint is None else dict(zip(RuleCounts._fields, state.counts, strict=True))
        identity = storage.identity(self, {}, symbols=list(map(str, state.rules.symbols)), **named)
        file = storage.Checkpoint(checkpoint, checkpoint_interval, resume, identity)
        model._state_of_fit = state
        if self.rules == "loglinear":
            model._fit_loglinear(file)
        return self._take_fitted(model)

    def _fit_loglinear(self, file: storage.Checkpoint) -> None:
        """Find the weights of the features of rules, by their counts."""
        state, estimator = self._state_of_fit, self._loglinear_rules(self._state_of_fit.rules)

        def install(log_weights: RuleCounts) -> "PCFG":
            self._state_of_fit = replace(state, log_weights=log_weights)
            return self

        report = make_callback(self, lambda: install(estimator.log_weights(state.counts.roots)))
        monitor = ConvergenceMonitor(TOL, MAX_ITERATIONS, total_of(state.counts), report, file)
        install(estimator.estimate(state.counts, monitor))
        self.history_, self.n_iter_, self.converged_ = monitor.history, monitor.iterations, monitor.converged
        self.objective_ = monitor.history[-1]["objective"]
        if not (monitor.converged or monitor.stopped):
            warnings.warn(
                f"weights of rules did not converge in {monitor.iterations} iterations: lower prior_variance",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _count(self, trees: Any) -> CountedTrees:
        """A grammar by the counts of trees, and those of words."""
        form = self._tree_form()
        binarizer = form.binarizer()
        counter, n_trees = RuleCounter(), 0
        flat: dict[tuple[str, ...], int] = {}
        for tree in form.cleaned(trees):
            n_trees += 1
            if tree is not None:
                counter.add(binarizer.derive(tree))
                top = tree.top_labels()
                flat[top] = flat.get(top, 0) + 1
        if not flat:
            raise ValueError(f"there is nothing to learn from: {n_trees} trees, none of which has a word")
        rules, counts, words = counter.result(binarizer.symbols)
        lexicon = Lexicon(words, rules.symbols, rules.tags, self._lexicon_options())
        most = max(flat, key=flat.__getitem__)
        log_weights = log_probabilities(rules, counts, self._pseudo_counts(rules))
        return CountedTrees(GrammarState(rules, counts, log_weights, lexicon, most, form), words)

    def _estimator(self, rules: RuleTable) -> RuleEstimator:
        if self.rules == "loglinear":
            return self._loglinear_rules(rules)
        return RelativeFrequencies(rules, self._pseudo_counts(rules))

    def _loglinear_rules(self, rules: RuleTable) -> LogLinearRules:
        return LogLinearRules(rules, float(self.prior_variance), self.rule_features or rule_features)

    def _pseudo_counts(self, rules: RuleTable) -> Floats:
        return pseudo_counts(rules, float(self.alpha), self.base_measure)

    @classmethod
    def from_rules(cls, text: str, **parameters: Any) -> Self:
        """The grammar that rules in NLTK's notation say.

        Parameters
        ----------
        text : str
            Lines such as ``NP -> Det N [0.75] | 'John' [0.25]``; words stand in quotes. The first left side is the
            start symbol, or the one that ``%start S`` names.
        parameters
            Those of the class; trees keep their labels as they are.

        Returns
        -------
        PCFG
            A grammar that parses without a fit.

        Raises
        ------
        ValueError
            If a line is no rule, or the probabilities of a left side do not sum to 1.

        Examples
        --------
        >>> from fastlin.grammar import PCFG
        >>> grammar = PCFG.from_rules("S -> 'a' S [0.5] | 'b' [0.5]")
        >>> grammar.score_samples(["a a b"]).round(4)
        array([-2.0794])
        """
        start, written = read_rules(text)
        grammar = binary_grammar(start, written)
        lexicon = Lexicon(grammar.words, grammar.rules.symbols, grammar.rules.tags, LexiconOptions(None, 0, 0.0, 0.0))
        return cls._of(grammar.rules, grammar.log_weights, lexicon, (start,), parameters)

    @classmethod
    def from_hmm(cls, hmm: HMM, **parameters: Any) -> Self:
        """The grammar of a hidden Markov model of words: sentences and paths of states have the same probabilities.

        The tree of a path is (i→ (i word) (j→ (j word) …)): `Tree.tagged_words` are its words and states.

        Parameters
        ----------
        hmm : HMM
            A fitted model whose tokens are words.
        **parameters
            Parameters of the class.

        Returns
        -------
        PCFG
            A grammar whose `score_samples` are those of the model.

        Raises
        ------
        TypeError
            If it is no HMM.
        ValueError
            If its tokens are rows of features.
        """
        rules, log_weights, lexicon = hmm_rules(hmm)
        most = rules.symbols[rules.roots[int(np.argmax(log_weights.roots))]].label or ""
        return cls._of(rules, log_weights, lexicon, (most,), parameters)

    @classmethod
    def _of(
        cls,
        rules: RuleTable,
        log_weights: RuleCounts,
        lexicon: TagScorer,
        flat: tuple[str, ...],
        parameters: dict[str, Any],
        form: TreeForm | None = None,
    ) -> Self:
        """A grammar that was not counted: unless it has the form of another, its rules are the trees' as they are."""
        as_written = {
            "horizontal": None, "vertical": 1, "split_tags": False, "remove_functions": False, "remove_traces": False,
            "unknown": None, "decoding": "viterbi",
        }  # fmt: skip
        grammar = cls(**(as_written | parameters))
        check_parameters(grammar)
        counts = RuleCounts(*map(np.exp, log_weights))
        grammar._state_of_fit = GrammarState(
            rules, counts, log_weights, lexicon, flat, grammar._tree_form() if form is None else form
        )
        return grammar

    @reads
    def sample_prior(self, random_state: Any = None) -> Self:
        """A grammar of the same rules with probabilities drawn from their prior, Dirichlet(α ρ) for each left side.

        Where α ρ is below 1, most rules of a left side have next to nothing. Words and what sentences begin with stay.

        Parameters
        ----------
        random_state : int, RandomState, Generator or None
            None: the estimator's own.

        Returns
        -------
        PCFG
            Another grammar; this one stays as it is.
        """
        check_parameters(self)
        state = self._learnt
        generator = as_generator(self.random_state if random_state is None else random_state)
        pseudo = self._pseudo_counts(state.rules)
        log_weights = draw_probabilities(state.rules, pseudo, state.log_weights.roots, generator)
        parameters = self.get_params(deep=False)
        return self._of(state.rules, log_weights, state.lexicon, state.flat, parameters, state.form)

    def _tree_form(self) -> TreeForm:
        return TreeForm.of(self, self.split_tags)

    def _lexicon_options(self) -> LexiconOptions:
        return LexiconOptions(self.unknown, self.rare_count, self.word_alpha, self.tag_alpha)
