"""What a model file holds of a `SpellingCorrector`."""

import math
from typing import Any

import numpy as np

from fastlin.channel.letters import Letters
from fastlin.channel.spelling import SpellingCorrector, SpellingState
from fastlin.channel.substring_rules import SubstringRules
from fastlin.engine.channel.edit_rules import LAST_MARK, LONGEST
from fastlin.lm.base import LanguageModel
from fastlin.lm.ngram import NgramModel
from fastlin.storage.fields import Law, between, proved, rising_to
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, or_unfitted, reject_unknown
from fastlin.storage.weight_packing import Packing

PARTS = "source", "log_prob", "rules", "characters"
RULES = "sources", "source_offsets", "observed", "observed_offsets", "log_prob", "log_keep", "log_edit"
SIDES = ("sources", "source_offsets"), ("observed", "observed_offsets")
AT_MOST_ZERO = Law(lambda array: bool((array <= 0).all()), "logarithms of probabilities")


def _take(model: SpellingCorrector, packing: Packing) -> State:
    if packing.serving:
        raise ValueError("a SpellingCorrector is saved as it is: dtype and prune are for weights")
    learnt = model._learnt
    rules = learnt.rules
    values = *rules.sources, *rules.observed, rules.log_prob, rules.log_keep, rules.log_edit
    return {
        "source": learnt.source,
        "log_prob": learnt.log_prob,
        "rules": dict(zip(RULES, values, strict=True)),
        "characters": learnt.characters,
    }


def _give(model: SpellingCorrector, state: State, _: LoadContext) -> None:
    reject_unknown(state, *PARTS)
    source, characters = state["source"], state["characters"]
    if not isinstance(source, LanguageModel) or source._reader().unit != "word":
        raise ValueError("source must be a language model of words")
    if characters is not None and not (isinstance(characters, NgramModel) and characters._reader().unit == "character"):
        raise ValueError("characters must be an NgramModel of characters, or None")
    n_words = len(source._word_model.vocabulary)
    log_prob = proved(state["log_prob"], "log_prob", np.float64, (n_words,), AT_MOST_ZERO)
    model._state_of_fit = SpellingState(source, log_prob, _give_rules(state["rules"]), characters)


def _give_rules(state: Any) -> SubstringRules:
    """Proved: strings of letters that rules may have, a logarithm for each."""
    reject_unknown(state, *RULES)
    log_prob = proved(state["log_prob"], "log_prob", np.float32, (None,), between(-1e6, 0))
    sides = [_give_strings(state[name], state[offsets], name, len(log_prob)) for name, offsets in SIDES]
    numbers = state["log_keep"], state["log_edit"]
    if not all(type(number) is float and math.isfinite(number) and number <= 0 for number in numbers):
        raise ValueError(f"log_keep and log_edit must be numbers of at most 0, got {numbers!r:.100}")
    return SubstringRules(sides[0], sides[1], log_prob, *numbers)


def _give_strings(letters: Any, offsets: Any, name: str, n: int) -> Letters:
    proved(letters, name, np.uint32, (None,), between(0, LAST_MARK))
    proved(offsets, f"offsets of {name}", np.int64, (n + 1,), rising_to(len(letters)))
    if (np.diff(offsets) > LONGEST).any():
        raise ValueError(f"{name} must be strings of at most {LONGEST} letters")
    return letters, offsets


CODECS = {"fastlin.channel.SpellingCorrector": or_unfitted(ModelCodec(_take, _give))}
