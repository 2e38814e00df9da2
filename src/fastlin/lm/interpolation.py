"""`Interpolation`: a mixture of language models, whose weights are fitted to a text."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fastlin.core.estimator import learns
from fastlin.lm.base import LanguageModel
from fastlin.lm.cache import Cache
from fastlin.lm.sentences import DIRECTIONS, SentenceReader
from fastlin.lm.vocabulary import BEGIN, UNKNOWN, WordVocabulary, look_up, marks
from fastlin.lm.word_model import WordModel, prove_state
from fastlin.validation import real_number, whole_number
from fastlin.validation.parameter_kinds import ABSENT, NUMBERS, Kind, ParameterTable

Floats = NDArray[np.float64]
DEEPEST = 10  # mixtures within mixtures
MOST = 10_000  # models of a mixture, those of mixtures within it included


@dataclass(frozen=True)
class Component:
    """A model whose words are numbered as the mixture's. A word that it does not know has a share of its unknown one's.

    `numbers` are the words of the mixture as the model has them, `log_shares` ln of the share of each.
    """

    model: WordModel
    numbers: NDArray[np.int32]
    log_shares: Floats

    @classmethod
    def of(cls, model: WordModel, vocabulary: WordVocabulary) -> "Component":
        numbers = look_up(model.vocabulary.table, vocabulary.names, False)
        numbers[UNKNOWN] = UNKNOWN
        unknown = (numbers < 0) | (numbers == UNKNOWN)
        numbers[unknown] = UNKNOWN
        return cls(model, numbers, np.where(unknown, -np.log(np.count_nonzero(unknown)), 0.0))

    def score(self, tokens: NDArray[np.int32]) -> Floats:
        """p of every token."""
        return np.exp(self.model.score(self.numbers[tokens])[0] + self.log_shares[tokens])

    def next_word(self, state: Any) -> Floats:
        """p of every word but begin."""
        log_prob = self.model.next_word(state)[self.numbers[BEGIN + 1 :] - 1]
        return np.exp(log_prob + self.log_shares[BEGIN + 1 :])


@dataclass(frozen=True)
class Mixture:
    """p(w | h) = Σ λ_m p_m(w | h). Where a cache has no opinion, the others share its weight.

    A state is a tuple of the components' states, and of a cache the last words.
    """

    vocabulary: WordVocabulary
    components: list[Component | Cache]
    weights: Floats

    @property
    def order(self) -> int:
        """One more than the words that a state depends on."""
        windows = [part.window + 1 if isinstance(part, Cache) else part.model.order for part in self.components]
        return max(windows)

    def start(self) -> Any:
        """The state where a sentence begins, nothing having been said before."""
        return tuple(() if isinstance(part, Cache) else part.model.start() for part in self.components)

    def state_after(self, words: Sequence[int], begin: bool) -> Any:
        """The state after some words, at the beginning of a sentence or somewhere within one."""
        states = []
        for part in self.components:
            if isinstance(part, Cache):
                states.append(tuple(words[-part.window :]))
            else:
                states.append(part.model.state_after(part.numbers[list(words)].tolist(), begin))
        return tuple(states)

    def advance(self, state: Any, word: int) -> tuple[float, Any]:
        """(ln p of a word after a state, the state after it)."""
        self._prove(state)
        found_by: list[float | None] = []
        after = []
        for part, own in zip(self.components, state, strict=True):
            found: float | None
            if isinstance(part, Cache):
                found, new = part.advance(own, word)
            else:
                log_prob, new = part.model.advance(own, int(part.numbers[word]))
                found = float(np.exp(log_prob + part.log_shares[word]))
            after.append(new)
            found_by.append(found)
        p = np.array([np.nan if found is None else found for found in found_by])
        with np.errstate(divide="ignore"):
            return float(np.log(self._mixed(p[np.newaxis])[0])), tuple(after)

    def _prove(self, state: Any) -> None:
        """ValueError unless a state has a tuple for each component; language models prove theirs."""
        known = isinstance(state, tuple) and len(state) == len(self.components)
        if not known or not all(isinstance(own, tuple) for own in state):
            raise ValueError("a state that the mixture does not have")
        for part, own in zip(self.components, state, strict=True):
            if isinstance(part, Cache):
                prove_state(own, 0, part.window, len(self.vocabulary))

    def _mixed(self, p: Floats) -> Floats:
        """p of the mixture from those of the components, [n, M]; NaN: no opinion.

        Where none that has an opinion has a weight, all that have one weigh the same.
        """
        known = np.isfinite(p)
        total = known @ self.weights
        mixed = np.where(known, p, 0.0) @ self.weights
        alone = total == 0
        if alone.any():
            mixed[alone], total[alone] = np.where(known, p, 0.0)[alone].sum(axis=1), known[alone].sum(axis=1)
        with np.errstate(invalid="ignore"):
            return mixed / total

    def parts(self, tokens: NDArray[np.int32]) -> Floats:
        """p of every token by each component, [n, M]; NaN where a cache has none."""
        return np.column_stack([part.score(tokens) for part in self.components])

    def score(self, tokens: NDArray[np.int32]) -> tuple[Floats, NDArray[np.int32]]:
        """ln p of every token, 0 where a sentence begins; lengths of n-grams are not known of a mixture: 0."""
        p, inside = self.parts(tokens), tokens != BEGIN
        with np.errstate(divide="ignore"):
            log_prob = np.log(self._mixed(p))
        return np.where(inside, log_prob, 0.0), np.zeros(len(tokens), np.int32)

    def next_word(self, state: Any) -> NDArray[np.float32]:
        """ln p of every word but begin, in the order of their numbers."""
        self._prove(state)
        p = np.full((len(self.vocabulary) - 1, len(self.components)), np.nan)
        for column, (part, own) in enumerate(zip(self.components, state, strict=True)):
            if isinstance(part, Cache):
                found = part.word_probabilities(own, len(self.vocabulary))
            else:
                found = part.next_word(own)
            if found is not None:
                p[:, column] = found
        with np.errstate(divide="ignore"):
            return np.log(self._mixed(p)).astype(np.float32)


class _LastMixture:
    """The mixture that was made last, and of what: components may be fitted anew."""

    def __init__(self) -> None:
        self.made: tuple[list[Any], Mixture] | None = None


def _replace_models(known: dict[str, Any], of: Callable[[Any], Any]) -> None:
    """What `of` makes of each language model, in the place of those that a mixture asks."""
    name = "models_" if "models_" in known else "models"
    if isinstance(known[name], list | tuple):
        known[name] = type(known[name])(of(each) if isinstance(each, LanguageModel) else each for each in known[name])


class _Within:
    """A mixture within a mixture, as `repr` shows it: in full, the time would double with each one within another."""

    def __init__(self, mixture: "Interpolation") -> None:
        self.mixture = mixture

    def __repr__(self) -> str:
        models = self.mixture.models
        names = [type(each).__name__ for each in models] if isinstance(models, list | tuple) else [repr(models)]
        return f"Interpolation([{', '.join(names)}])"


def _inside(mixture: "Interpolation") -> Sequence[Any]:
    """What a mixture holds; nothing, if that is no list."""
    models = mixture.__dict__.get("models_", mixture.models)
    return models if isinstance(models, list | tuple) else ()


def _prove_finite(mixture: "Interpolation") -> None:
    """ValueError: a mixture holds itself, or what it holds is too much to ask."""
    sizes: dict[int, int] = {}

    def size(model: Any, around: tuple[Any, ...]) -> int:
        if any(model is each for each in around):
            raise ValueError("models must not hold the mixture itself, nor a mixture that does")
        if len(around) > DEEPEST:
            raise ValueError(f"models must hold mixtures within mixtures at most {DEEPEST} deep")
        if not isinstance(model, Interpolation):
            return 1
        if id(model) not in sizes:
            sizes[id(model)] = sum(size(each, (*around, model)) for each in _inside(model))
        return sizes[id(model)]

    if any(isinstance(each, Interpolation) for each in _inside(mixture)) and (n := size(mixture, ())) > MOST:
        raise ValueError(f"models must be at most {MOST}, those of mixtures within the mixture included, got {n}")


def are_models(value: Any) -> bool:
    """Whether these may be the models of a mixture."""
    return isinstance(value, list) and all(isinstance(part, LanguageModel | Cache) for part in value)


class Interpolation(LanguageModel):
    """A mixture of language models: p(w | h) = Σ_m λ_m p_m(w | h).

    The words are those of all models together; a model that does not know one gives it an equal share of what it gives
    unknown words, so that the mixture's probabilities sum to one.

    Parameters
    ----------
    models : list
        Fitted language models of one unit and one direction, and caches (`Cache`). A cache remembers the text in the
        order in which it is given, across sentences, and is empty where a call of a method begins.
    weights : list of float or None
        λ, which must sum to 1; None: equal ones, or what `fit_weights` finds.

    Attributes
    ----------
    models_ : list
        What `fit` has fitted; only `fit` makes it.
    weights_ : ndarray of shape (n_models,)
    history_ : list of dict
        Of `fit_weights`: iteration, objective (−Σ ln p).

    Examples
    --------
    >>> from fastlin.lm import Cache, Interpolation, NgramModel
    >>> lm = NgramModel(order=2, smoothing="witten_bell").fit(["a b a b", "b a"])
    >>> mixture = Interpolation([lm, Cache(10)]).fit_weights(["a b a b a b", "a b"])
    >>> bool(mixture.weights_.sum().round(9) == 1)
    True
    """

    _parameters: ClassVar[ParameterTable] = {"models": Kind(are_models, "language models"), "weights": NUMBERS | ABSENT}

    def __init__(self, models: Sequence[Any], weights: Sequence[float] | None = None) -> None:
        self.models = models
        self.weights = weights
        self._last = _LastMixture()

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a copy of every language model to a text; without it, `models` are taken as they are.

        Parameters
        ----------
        X : list of sentences, path or open file
            It is read once for each model.
        y : ignored

        Returns
        -------
        self
            The fitted mixture, with its models in `models_`.
        """
        del y
        _prove_finite(self)
        model = self._working_copy()
        model.models_ = [part if isinstance(part, Cache) else clone(part).fit(X) for part in self.models]
        model._mixture(None)
        return self._take_fitted(model)

    @learns
    def fit_weights(self, X: Any, *, tol: float = 1e-7, max_iter: int = 1000) -> Self:
        """Find the weights under which a text is most likely, by EM; it should be one that no model has seen.

        Parameters
        ----------
        X : list of sentences, path or open file
        tol : float
            Ends when an iteration raises the mean ln p of a word by no more.
        max_iter : int
            Iterations at most. EM is slow where a model deserves next to no weight; a warning says if they end it.

        Returns
        -------
        self
            The mixture, with its new `weights_`.
        """
        tol, max_iter = real_number("tol", tol, at_least=0), whole_number("max_iter", max_iter, 1)
        model, view = self._working_copy(), self._snapshot()
        mixture = view._mixture(None)
        tokens = np.concatenate([np.empty(0, np.int32), *view._reader().blocks(X, mixture.vocabulary.table, False)])
        p = mixture.parts(tokens)[tokens != BEGIN]
        known = np.isfinite(p)
        p = np.where(known, p, 0.0)
        possible = p.max(axis=1, initial=0) > 0
        p, known = p[possible], known[possible]
        if not len(p):
            raise ValueError("there is no word to fit weights to: X is empty, or all of its words are impossible")
        weights, history = mixture.weights, []
        for iteration in range(max_iter):
            mixed = (p @ weights) / (known @ weights)
            history.append({"iteration": iteration, "objective": -float(np.log(mixed).sum())})
            if len(history) > 1 and history[-2]["objective"] - history[-1]["objective"] <= tol * len(p):
                break
            shares = np.where(known, p / mixed[:, np.newaxis], 1.0)  # who has no opinion has that of the others
            weights = weights * shares.mean(axis=0)
            weights = weights / weights.sum()
        else:
            warnings.warn(
                f"the weights still changed after {max_iter} iterations of EM: raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        model.weights_, model.history_ = weights, history
        return self._take_fitted(model)

    def _snapshot(self) -> Self:
        """A view of what is known now: of the models, too, which may learn."""
        view = super()._snapshot()
        if view is not self:
            _prove_finite(self)
            _replace_models(view.__dict__, LanguageModel._snapshot)
        return view

    def _mixture(self, weights: Floats | None) -> Mixture:
        """The models as one; with these weights, or as `weights` has them."""
        models = self._models()
        if not models or all(isinstance(model, Cache) for model in models):
            raise ValueError(f"models must hold at least one language model, got {models!r:.60}")
        readers = {model._reader() for model in models if isinstance(model, LanguageModel)}
        ways = sorted({f"{DIRECTIONS[reader.backward]} by {reader.unit}" for reader in readers})
        if len(ways) > 1:
            raise ValueError(f"models must all be of one unit and one direction, got {', '.join(ways)}")
        word_models = [model if isinstance(model, Cache) else model._word_model for model in models]
        known = [model.vocabulary for model in word_models if not isinstance(model, Cache)]
        unknown_word = known[0].names[UNKNOWN]
        names = dict.fromkeys(name for vocabulary in known for name in vocabulary.names[UNKNOWN + 1 :])
        vocabulary = WordVocabulary.of([*marks(unknown_word), *(name for name in names if name != unknown_word)])
        if weights is None:
            weights = self._given_weights(len(models))
        parts = [m if isinstance(m, Cache) else Component.of(m, vocabulary) for m in word_models]
        return Mixture(vocabulary, parts, weights)

    def _models(self) -> list[Any]:
        """The models that were fitted here, or that were given."""
        models = self.__dict__.get("models_", self.models)
        if not isinstance(models, Sequence) or isinstance(models, str):
            raise TypeError(f"models must be a list of language models and Caches, got {type(models).__name__}")
        for model in models:
            if not isinstance(model, LanguageModel | Cache):
                raise TypeError(f"models must hold language models and Caches, got {model!r:.60}")
        return list(models)

    def _given_weights(self, n: int) -> Floats:
        if self.weights is None:
            return np.full(n, 1 / n)
        if not isinstance(self.weights, Sequence | np.ndarray) or isinstance(self.weights, str):
            raise TypeError(f"weights must be a list of numbers, got {type(self.weights).__name__}")
        weights = np.array([real_number("weights", each, at_least=0, at_most=1) for each in self.weights])
        if len(weights) != n or abs(weights.sum() - 1) > 1e-6:
            raise ValueError(f"weights must be {n} numbers that sum to 1, got {self.weights!r:.80}")
        return weights / weights.sum()

    # --- what was learnt ---------------------------------------------------------------------------------------------

    @property
    def _word_model(self) -> Mixture:
        view = self._snapshot()
        weights = view.__dict__.get("weights_")
        of = [model if isinstance(model, Cache) else model._word_model for model in view._models()]
        of += [view.weights if weights is None else weights]
        last = self._last.made
        if last is None or len(of) != len(last[0]) or any(a is not b for a, b in zip(of, last[0], strict=True)):
            last = self._last.made = of, view._mixture(weights)
        return last[1]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        models = self.models
        if isinstance(models, list | tuple):
            models = [_Within(each) if isinstance(each, Interpolation) else each for each in models]
        shown = self._working_copy()
        shown.models = models
        return BaseEstimator.__repr__(shown, N_CHAR_MAX)

    def __sklearn_clone__(self) -> Self:
        _prove_finite(self)
        return super().__sklearn_clone__()

    def __getstate__(self) -> dict[str, Any]:
        _prove_finite(self)
        state = {**super().__getstate__(), "_last": _LastMixture()}
        _replace_models(state, LanguageModel._working_copy)
        return state

    def _reader(self) -> SentenceReader:
        for model in self._models():
            if isinstance(model, LanguageModel):
                return model._reader()
        raise NotFittedError("models must hold at least one language model that is fitted")

    def _blocks(self, X: Any) -> Iterator[NDArray[np.int32]]:
        """One block: caches remember across sentences."""
        blocks = list(super()._blocks(X))
        if blocks:
            yield np.concatenate(blocks)

    def __sklearn_is_fitted__(self) -> bool:
        return True
