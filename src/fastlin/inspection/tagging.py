"""A sentence with the labels of its tokens, and how sure a model is of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastlin.inspection import html
from fastlin.inspection.weights import advice, learner_of

OUTSIDE = "O"  # the label of what belongs to no chunk
_BOX = "display: inline-block; text-align: center; margin: 2px; padding: 1px 4px; border-radius: 3px"
HUES = 360, 137.508  # degrees of a circle, and the golden angle: colours of neighbours differ


@dataclass(frozen=True)
class TaggedSentence:
    """The tokens of a sentence, the best labels together, and the probability of each.

    Attributes
    ----------
    tokens : tuple of tokens
    labels : tuple of labels
    probabilities : tuple of float, or None
        The marginal probability of each token's label; None of a model that has none.
    classes : tuple of labels
        All labels of the model.
    """

    tokens: tuple[Any, ...]
    labels: tuple[Any, ...]
    probabilities: tuple[float, ...] | None
    classes: tuple[Any, ...]

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            `tokens`, the words, `labels`, and `probabilities` or None.
        """
        probabilities = None if self.probabilities is None else list(self.probabilities)
        return {"tokens": list(map(word_of, self.tokens)), "labels": list(self.labels), "probabilities": probabilities}

    def __str__(self) -> str:
        words, labels = [*map(word_of, self.tokens)], [*map(str, self.labels)]
        wide, narrow = max(map(len, words), default=0), max(map(len, labels), default=0)
        sure = [""] * len(words) if self.probabilities is None else [f"  {p:.2f}" for p in self.probabilities]
        return "\n".join(
            f"{word:<{wide}}  {label:<{narrow}}{p}".rstrip() for word, label, p in zip(words, labels, sure, strict=True)
        )

    def _repr_html_(self) -> str:
        """Each token above its label; the fainter a colour is, the less sure the model."""
        kinds = list(dict.fromkeys(_kind(label) for label in self.classes))
        sure = self.probabilities or (1.0,) * len(self.tokens)
        cells = []
        for token, label, p in zip(self.tokens, self.labels, sure, strict=True):
            hue = kinds.index(_kind(label)) * HUES[1] % HUES[0]
            colour = "none" if label == OUTSIDE else f"hsla({hue:.0f}, 70%, 50%, {0.45 * p:.2f})"
            title = html.escaped(label if self.probabilities is None else f"{label}: {p:.3f}")
            cells.append(
                f'<span title="{title}" style="{_BOX}; background: {colour}">{html.escaped(word_of(token))}<br>'
                f'<small style="opacity: 0.7">{html.escaped(label)}</small></span>'
            )
        return html.Markup(f"<div>{''.join(cells)}</div>")


def word_of(token: Any) -> str:
    """What to show of a token: its word, or the first of its attributes."""
    if isinstance(token, str):
        return token
    if isinstance(token, dict):
        return ", ".join(f"{name}={value}" for name, value in list(token.items())[:1])
    return str(next(iter(token), ""))


def _kind(label: Any) -> str:
    """The kind of chunk that a label of chunks is about, or the label."""
    text = str(label)
    return text[2:] if len(text) > 2 and text[1] in "-_" else text


def tagging(model: Any, tokens: Sequence[Any]) -> TaggedSentence:
    """Label a sentence, and say how sure the model is of each label.

    Parameters
    ----------
    model : fitted CRF, MEMM, StructuredPerceptron or HMM
    tokens : sequence of tokens
        One sequence, as `predict` takes it in a list.

    Returns
    -------
    TaggedSentence

    Examples
    --------
    >>> from fastlin.inspection import tagging
    >>> from fastlin.sequence import CRF
    >>> model = CRF(c2=0.1).fit([["the", "dog", "barks"], ["a", "cat", "ran"]], [["D", "N", "V"]] * 2)
    >>> print(tagging(model, ["the", "cat", "barks"]))
    the    D  0.82
    cat    N  0.87
    barks  V  0.82
    """
    learner = learner_of(model)
    if not hasattr(learner, "predict_nbest"):
        name = type(learner).__name__
        raise TypeError(f"{name} is no model of sequences: it labels no tokens{advice(learner)}")
    learner = learner._snapshot()  # of one moment
    labels = learner.predict([tokens])[0]
    classes = learner.classes_.tolist()
    labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    probabilities = None
    if hasattr(learner, "predict_marginals"):
        marginals = learner.predict_marginals([tokens])[0]
        probabilities = tuple(float(row[classes.index(label)]) for row, label in zip(marginals, labels, strict=True))
    return TaggedSentence(tuple(tokens), tuple(labels), probabilities, tuple(classes))
