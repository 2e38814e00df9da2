"""Summaries of language models, and the words of a sentence that surprise them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastlin.core.model_kinds import has_model_for_each_label, is_about_language
from fastlin.inspection import html
from fastlin.inspection.explanation import Explanation
from fastlin.inspection.summary import StepSummary, changed
from fastlin.inspection.weights import advice, learner_of
from fastlin.validation import whole_number

COUNTED = 4  # counts of counts
SHOWN = 10
MARKED = 3  # words of a sentence
WIDTH = 30  # characters of the longest bar


@dataclass(frozen=True)
class OrderSummary:
    """The n-grams of one order; what a model does not have is empty, or None.

    Attributes
    ----------
    order : int
        n.
    n_grams : int
        How many the model has.
    counts_of_counts : tuple of int
        How many n-grams the training text has once, twice, three and four times.
    discounts : tuple of float
        What smoothing takes off n-grams seen once, twice, more often.
    prior_variance : float or None
        Of the weights of a log-linear model.
    strongest : tuple of (str, float)
        n-grams and their weights, the largest first, whatever the sign.
    """

    order: int
    n_grams: int
    counts_of_counts: tuple[int, ...]
    discounts: tuple[float, ...]
    prior_variance: float | None
    strongest: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class ClassSummary:
    """A class of words: the probable ones first. Soft classes have all words, and no size.

    Attributes
    ----------
    number : int
        The class.
    size : int or None
        Its words.
    words : tuple of str
        Some of them.
    """

    number: int
    size: int | None
    words: tuple[str, ...]


@dataclass(frozen=True)
class LanguageSummary:
    """Summary of a language model, classes of words, a mixture or a classifier by language models.

    Attributes
    ----------
    part : StepSummary
        The estimator.
    words : int or None
        Words that may come next; None of a mixture and of a classifier.
    orders : tuple of OrderSummary
        Unigrams first.
    classes : tuple of ClassSummary
        Classes of words.
    members : tuple of (str, LanguageSummary)
        Models with their weights, or with their labels.
    skip_grams : tuple of (str, float)
        The strongest pairs, "the … sat", and their weights.
    """

    part: StepSummary
    words: int | None
    orders: tuple[OrderSummary, ...] = ()
    classes: tuple[ClassSummary, ...] = ()
    members: tuple[tuple[str, "LanguageSummary"], ...] = ()
    skip_grams: tuple[tuple[str, float], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            A key for each field; what JSON can hold.
        """
        return {
            "part": self.part.as_dict(),
            "words": self.words,
            "orders": [asdict(each) for each in self.orders],
            "classes": [asdict(each) for each in self.classes],
            "skip_grams": [list(each) for each in self.skip_grams],
            "members": [{"name": name, **each.as_dict()} for name, each in self.members],
        }

    def __str__(self) -> str:
        lines = [f"{'model':<9} {self.part}"]
        if self.words is not None:
            lines.append(f"{'words':<9} {self.words:,}")
        if self.orders:
            lines += ["", *_table(self.orders)]
        for each in self.orders:
            if each.strongest:
                lines += ["", f"strongest weights of order {each.order}", *_weight_lines(each.strongest)]
        if self.skip_grams:
            lines += ["", "strongest weights of skip-grams", *_weight_lines(self.skip_grams)]
        if self.classes:
            lines += ["", "class   words  the most probable"]
            sizes = ["" if each.size is None else f"{each.size:,}" for each in self.classes]
            lines += [
                f"{each.number:>5}  {size:>6}  {' '.join(each.words)}"
                for each, size in zip(self.classes, sizes, strict=True)
            ]
        for name, member in self.members:
            lines += ["", name, *(f"  {line}".rstrip() for line in str(member).split("\n"))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [
            html.table((), [("model", self.part), *([] if self.words is None else [("words", f"{self.words:,}")])])
        ]
        if self.orders:
            columns = _columns(self.orders)
            cells = zip(*(column for _, column in columns), strict=True)
            parts.append(html.table([name for name, _ in columns], cells))
        named = [(f"strongest weights of order {each.order}", each.strongest) for each in self.orders]
        for caption, weights in (*named, ("strongest weights of skip-grams", self.skip_grams)):
            if weights:
                largest = max(abs(weight) for _, weight in weights)
                rows = [(html.bar(weight, largest), weight, name) for name, weight in weights]
                parts.append(html.table((), rows, caption))
        if self.classes:
            classes = [(each.number, each.size, " ".join(each.words)) for each in self.classes]
            parts.append(html.table(["class", "words", "the most probable"], classes))
        for name, member in self.members:
            parts += [html.paragraph(name), html.Markup(member._repr_html_())]
        return html.block(*parts)


def _weight_lines(weights: Sequence[tuple[str, float]]) -> list[str]:
    return [f"  {weight:>+10.4f}  {name}" for name, weight in weights]


def _columns(orders: Sequence[OrderSummary]) -> list[tuple[str, list[str]]]:
    """The columns of a table of orders; those that no order has are left out."""
    columns = [
        ("order", [str(each.order) for each in orders]),
        ("n-grams", [f"{each.n_grams:,}" for each in orders]),
    ]
    columns += [
        (f"seen {place + 1}×", [f"{each.counts_of_counts[place]:,}" for each in orders])
        for place in range(len(orders[0].counts_of_counts))
    ]
    if any(each.discounts for each in orders):
        columns.append(("discounts", [", ".join(f"{one:.3f}" for one in each.discounts) for each in orders]))
    if any(each.prior_variance is not None for each in orders):
        columns.append(("σ²", [f"{each.prior_variance:g}" for each in orders]))
    return columns


def _table(orders: Sequence[OrderSummary]) -> list[str]:
    """The orders, a line for each."""
    columns = _columns(orders)
    widths = [max(len(name), *map(len, cells)) for name, cells in columns]
    rows = zip(*([name, *cells] for name, cells in columns), strict=True)
    return ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def language(model: Any, n: int = SHOWN) -> LanguageSummary:
    """Describe a fitted language model: its n-grams by order, discounts, weights, classes, the models of a mixture.

    Parameters
    ----------
    model : fitted NgramModel, MaxentLM, ClassBigramModel, WordClasses, Interpolation or LanguageModelClassifier
        Or a pipeline that ends with one.
    n : int
        How many weights of each order, and words of each class.

    Returns
    -------
    LanguageSummary

    Examples
    --------
    >>> from fastlin.inspection import language
    >>> from fastlin.lm import NgramModel
    >>> model = NgramModel(order=2, smoothing="absolute_discounting").fit(["the cat sat", "the dog sat", "a cat ran"])
    >>> print(language(model))
    model     NgramModel(order=2, smoothing='absolute_discounting')
    words     8
    <BLANKLINE>
    order  n-grams  seen 1×  seen 2×  seen 3×  seen 4×  discounts
        1        8        3        3        1        0      0.333
        2       10        8        2        0        0      0.667
    """
    model, n = learner_of(model), whole_number("n", n, 0)
    if not is_about_language(model):
        raise TypeError(f"{type(model).__name__} is no fitted language model, and no classes of words{advice(model)}")
    part = StepSummary(type(model).__name__, changed(model))
    if hasattr(model, "word_probabilities"):  # a cache, which knows no words of its own
        return LanguageSummary(part, None)
    check_is_fitted(model)
    model = model._snapshot()  # of one moment
    if members := _members(model, n):
        return LanguageSummary(part, None, members=members)
    orders, classes = _orders(model, n), _classes(model, n)
    return LanguageSummary(part, len(model.words_), orders, classes, skip_grams=_skip_grams(model, n))


def _members(model: Any, n: int) -> tuple[tuple[str, LanguageSummary], ...]:
    """The models of a mixture or of a classifier."""
    if hasattr(model, "class_log_prior_"):
        names = [
            f"label {label}, prior {prior:.4g}"
            for label, prior in zip(model.classes_.tolist(), np.exp(model.class_log_prior_).tolist(), strict=True)
        ]
        models = model.models_
    elif hasattr(model, "models"):
        models = getattr(model, "models_", model.models)
        weights = getattr(model, "weights_", model.weights)
        weights = [1 / len(models)] * len(models) if weights is None else weights
        names = [f"weight {float(weight):.4f}" for weight in weights]
    else:
        return ()
    return tuple((name, language(each, n)) for name, each in zip(names, models, strict=True))


def _orders(model: Any, n: int) -> tuple[OrderSummary, ...]:
    sizes = getattr(model, "n_grams_", None)
    if sizes is None:
        return ()
    counts = getattr(model, "counts_", None)
    discounts = getattr(model, "discounts_", None)
    weights, variances = getattr(model, "weights_", None), getattr(model, "prior_variance_", None)
    return tuple(
        OrderSummary(
            place + 1,
            len(model.words_) if place == 0 else size,
            () if counts is None else _counts_of_counts(counts.counts[place][place == 0 :]),
            () if discounts is None else tuple(discounts[place].tolist()),
            None if variances is None else float(variances[place]),
            () if weights is None else _strongest(model, place + 1, weights[place], n),
        )
        for place, size in enumerate(sizes)
    )


def _counts_of_counts(counts: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(np.count_nonzero(counts == times)) for times in range(1, COUNTED + 1))


def _strongest(model: Any, order: int, weights: NDArray[np.float64], n: int) -> tuple[tuple[str, float], ...]:
    best = _largest(weights, n)
    grams = model.ngrams(order, best)
    return tuple((_joined(model, gram), float(weights[place])) for gram, place in zip(grams, best, strict=True))


def _skip_grams(model: Any, n: int) -> tuple[tuple[str, float], ...]:
    """The strongest weights of pairs of words with others between them."""
    pairs, weights = getattr(model, "skip_grams_", None), getattr(model, "weights_", None)
    if pairs is None or weights is None:
        return ()
    found = []
    for place in _largest(weights[-1], n).tolist():
        before, between, word = pairs[place]
        found.append((_joined(model, [before, *["…"] * between, word]), float(weights[-1][place])))
    return tuple(found)


def _largest(weights: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """The places of the n largest weights, whatever the sign."""
    size = np.abs(weights)
    n = min(n, len(size))
    best = np.argpartition(-size, n - 1)[:n] if n else np.empty(0, np.int64)
    return best[np.lexsort((best, -size[best]))]


def _joined(model: Any, gram: Sequence[str]) -> str:
    return "".join(gram) if model._reader().unit == "character" and len(gram) > 1 else " ".join(gram)


def _classes(model: Any, n: int) -> tuple[ClassSummary, ...]:
    words, found = model.words_, []
    if hasattr(model, "word_given_class_"):
        p = model.word_given_class_
        for number in range(p.shape[1]):
            best = np.argsort(-p[:, number], kind="stable")[:n]
            found.append(ClassSummary(number, None, tuple(words[place] for place in best)))
    elif (of_words := getattr(model, "word_classes_", None)) is not None:
        frequent = model.word_counts_ if hasattr(model, "word_counts_") else model.next_word()
        order = np.argsort(-frequent, kind="stable")
        for number, size in enumerate(np.bincount(of_words).tolist()):
            inside = order[of_words[order] == number][:n]
            if size:
                found.append(ClassSummary(number, size, tuple(words[place] for place in inside)))
    return tuple(found)


# --- sentences -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SentenceSurprisal:
    """−log₂ p of each word of a sentence, and of its end.

    Attributes
    ----------
    words : tuple of str
        The last one is "</s>".
    bits : tuple of float
        One for each word.
    """

    words: tuple[str, ...]
    bits: tuple[float, ...]

    def largest(self, n: int = MARKED) -> list[tuple[str, float]]:
        """The n words that surprise most, those first.

        Parameters
        ----------
        n : int
            Words at most.

        Returns
        -------
        list of (str, float)
            Words and their bits, falling.
        """
        return [(self.words[place], self.bits[place]) for place in self._order()[: max(n, 0)]]

    def _order(self) -> list[int]:
        return sorted(range(len(self.bits)), key=lambda place: -self.bits[place])

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types; infinitely many bits are None.

        Returns
        -------
        dict
            `words` and `bits`, lists of one length.
        """
        return {"words": list(self.words), "bits": [None if each == np.inf else each for each in self.bits]}

    def __str__(self) -> str:
        rank = {place: f"{1 + number}." for number, place in enumerate(self._order()[:MARKED])}
        most = max((each for each in self.bits if each < np.inf), default=0.0) or 1.0
        lines = ["       bits"]
        for place, (word, bits) in enumerate(zip(self.words, self.bits, strict=True)):
            bar = "█" * round(WIDTH * min(bits / most, 1.0))
            lines.append(f"{rank.get(place, ''):>3} {bits:>7.2f}  {word}  {bar}".rstrip())
        return "\n".join([*lines, f"    {sum(self.bits):>7.2f}  {self._mean()}"])

    def _mean(self) -> str:
        return f"in all, {sum(self.bits) / len(self.bits):.2f} a word"

    def _repr_html_(self) -> str:
        """The sentence, its words the redder the more they surprise."""
        finite = [bits for bits in self.bits if bits < np.inf]
        pieces = []
        for word, bits in zip(self.words, self.bits, strict=True):
            pieces += [(word, -min(bits, max(finite, default=1.0) or 1.0), f"{bits:.2f} bits"), (" ", 0.0, "")]
        return html.block(
            html.coloured_text(pieces, max(finite, default=0.0)),
            html.paragraph(f"{sum(self.bits):.2f} bits {self._mean()}"),
        )


def surprisal(model: Any, sentence: str | Sequence[str]) -> SentenceSurprisal:
    """How much each word of a sentence surprises a language model: −log₂ p(word | words before).

    Parameters
    ----------
    model : fitted language model
    sentence : str or list of words

    Returns
    -------
    SentenceSurprisal

    Examples
    --------
    >>> from fastlin.inspection import surprisal
    >>> from fastlin.lm import NgramModel
    >>> model = NgramModel(order=2, smoothing="witten_bell").fit(["the cat sat", "the dog sat", "a cat ran"])
    >>> surprisal(model, "the cat ran").largest(1)[0][0]
    'ran'
    >>> print(surprisal(model, "the cat ran"))
           bits
     3.    1.12  the  ███████████████████
     2.    1.62  cat  ████████████████████████████
     1.    1.74  ran  ██████████████████████████████
           0.73  </s>  █████████████
           5.21  in all, 1.30 a word
    """
    if not hasattr(model, "surprisal"):
        raise TypeError(f"{type(model).__name__} is no language model: it has no surprisal{advice(model)}")
    return SentenceSurprisal((*model.tokens(sentence), "</s>"), tuple(model.surprisal([sentence]).bits.tolist()))


def explain_text(classifier: Any, text: str | Sequence[str], label: Any = None) -> Explanation:
    """Why a classifier by language models gives a text its label: what ln p of each word adds.

    Parameters
    ----------
    classifier : fitted LanguageModelClassifier
    text : str or list of words
    label : label, optional
        Why this one, rather than the best of the others; the label predicted when not given.

    Returns
    -------
    Explanation
        A feature for each word of the text and one for its end; the intercept is the prior's logarithm.

    Examples
    --------
    >>> from fastlin.inspection import explain_text
    >>> from fastlin.lm import LanguageModelClassifier, NgramModel
    >>> model = LanguageModelClassifier(NgramModel(order=1, smoothing="laplace"))
    >>> model = model.fit(["the cat sat", "the dogs", "die Katze", "der Hund"], ["en", "en", "de", "de"])
    >>> explain_text(model, "the Hund the cat").strongest(1)[0][0]
    'the'
    """
    if not has_model_for_each_label(classifier):
        name = type(classifier).__name__
        raise TypeError(f"{name} has no language model for each label: it explains no text so{advice(classifier)}")
    classes, models = classifier.classes_.tolist(), classifier.models_
    words = [*models[0].tokens(text), "</s>"]
    parts = np.column_stack([-np.log(2) * model.surprisal([text]).bits for model in models])
    return Explanation.of(classes, classifier.class_log_prior_, words, np.ones(len(words)), parts, label)
