"""Learning grammars from sentences whose trees are not known, or known in part."""

import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

from fastlin import storage
from fastlin.core.callbacks import make_callback
from fastlin.core.em_loop import EMEstimatorMixin, best_run
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.restarts import decisive_limits
from fastlin.grammar.charts import check_size
from fastlin.grammar.em_sentences import TrainingSentences
from fastlin.grammar.em_start import CountedTrees, EMStart, random_start, start_from
from fastlin.grammar.inside_outside_em import InsideOutsideEM, LearntGrammar, RuleEstimator
from fastlin.grammar.lexicon import LexiconOptions
from fastlin.grammar.parser import GrammarParser
from fastlin.grammar.rules import RuleTable
from fastlin.grammar.tree_form import TreeForm
from fastlin.grammar.tree_parser import as_sentences
from fastlin.validation import as_generator
from fastlin.validation.parameter_kinds import check_parameters


class UnlabeledLearner(EMEstimatorMixin, GrammarParser, ABC):
    """A grammar that learns by EM what trees do not say."""

    n_symbols: int | None
    vertical: int

    @abstractmethod
    def _count(self, trees: Any) -> CountedTrees:
        """A grammar by the counts of trees."""

    @abstractmethod
    def _estimator(self, rules: RuleTable) -> RuleEstimator:
        """What makes probabilities of counts."""

    @abstractmethod
    def _lexicon_options(self) -> LexiconOptions:
        """How words are smoothed."""

    @learns
    def fit_unlabeled(
        self,
        X: Any = (),
        trees: Any = None,
        brackets: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Learn from sentences whose trees are not known, by EM.

        EM begins with the grammar that `trees` have; without them, with the one that there is, fitted or written as
        rules; without one, with a random grammar of `n_symbols`. Rules and tags of words that the start has not get no
        probability. Sentences without a derivation are left out, with a warning; `unparsed="error"`: are an error.

        Parameters
        ----------
        X : list of sentences
            As for `predict`.
        trees : list of trees, path or open file, optional
            Known ones, as for `fit`; they are counted in every iteration.
        brackets : list of trees, path or open file, optional
            Sentences of which some constituents are known. A bracket without a label, or with the label ``_``, says
            that its words are a constituent, one with a label that they are one of this label, among others perhaps.
            There are no constituents that cross brackets; all else is open.
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
        check_parameters(self)
        model = self._working_copy()
        model._forget_fit()
        counted = None if trees is None else self._count(trees)
        goes_on = counted is None and self.__sklearn_is_fitted__()
        form = self._learnt.form if goes_on else self._tree_form()
        sentences = _read_unlabeled(X, brackets, form, [] if counted is None else list(counted.words))
        start = self._start_of_em(sentences, counted)
        data = {} if checkpoint is None else sentences.identity() | start.identity()
        identity = storage.identity(self, {}, **decisive_limits(self.n_init, self.max_iter, self.tol), **data)
        monitor = FitMonitor(
            self.max_iter, checkpoint=storage.Checkpoint(checkpoint, checkpoint_interval, resume, identity)
        )
        generator = monitor.register_generator(as_generator(self.random_state))
        estimator = self._estimator(start.rules)
        em = InsideOutsideEM(sentences, start, estimator, self.unparsed == "error", self.n_jobs)

        def install(learnt: LearntGrammar) -> "UnlabeledLearner":
            model._state_of_fit = start.state(learnt, self._lexicon_options())
            return model

        monitor.report = make_callback(model, lambda: install(em.counts()))
        n_starts = int(self.n_init) if start.is_random else 1
        best = best_run(em, monitor, self.tol, n_starts, lambda: em.begin(start.draw(generator.generator)), generator)
        if em.underived:
            warnings.warn(f"{em.describe_underived()}; they are left out", UserWarning, stacklevel=3)
        self._take_fitted(install(best.counts)._record_fit(best))
        self._warn_of_run(best)
        return self

    def _start_of_em(self, sentences: TrainingSentences, counted: CountedTrees | None) -> EMStart:
        """Where EM begins: with trees, with the grammar that there is, or with a random one."""
        if counted is not None:
            start = start_from(counted.state, counted.words, sentences)
        elif self.__sklearn_is_fitted__():
            start = start_from(self._learnt, None, sentences)
        elif self.n_symbols is None:
            raise ValueError(
                "there is no grammar to begin with: give trees, fit one, or set n_symbols for a random one"
            )
        elif self.vertical != 1:
            raise ValueError(
                f"vertical={self.vertical!r}, but symbols of a random grammar know no parent: set vertical=1"
            )
        else:
            start = random_start(sentences, int(self.n_symbols), int(self.max_memory), self._tree_form())
        for length in sentences.lengths.tolist():
            check_size(length, len(start.rules.symbols), self.max_memory, 2)
        return start

    def _describe_components(self, components: set[int]) -> str:
        return f"{len(components)} symbols"


def _read_unlabeled(X: Any, brackets: Any, form: TreeForm, known_words: list[str]) -> TrainingSentences:
    """Sentences to learn from, and words that are known besides."""
    partial = [] if brackets is None else [tree for tree in form.cleaned(brackets) if tree is not None]
    return TrainingSentences(as_sentences(X), partial, known_words)
