"""The form of trees that was learnt: parameters that are set later are those of the next fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastlin
from fastlin import storage
from fastlin.grammar import PCFG, SpanCRF

TREES = [
    "(S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (NN dog)) (-NONE- *)))",
    "(S (NP-SBJ (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN hat)))))",
]
WORDS = ["the cat sees a small dog", "a dog sees the cat with a hat"]
OTHERS: list[dict[str, Any]] = [
    {"vertical": 1, "horizontal": None}, {"remove_functions": False}, {"remove_traces": False},
]  # fmt: skip
FITTED = {
    "PCFG": lambda: PCFG(rare_count=0).fit(TREES),
    "PCFG by EM": lambda: PCFG(rare_count=0, max_iter=2, tol=0.0).fit_unlabeled(WORDS, trees=TREES),
    "SpanCRF": lambda: SpanCRF(min_count=1, vertical=2, random_state=0).fit(TREES),
}


def answers(model: Any) -> list[Any]:
    found = [list(model.predict(WORDS)), model.log_proba(WORDS, TREES).tolist(), model.score(TREES)]
    return [*found, model.log_joint(TREES).tolist()] if isinstance(model, PCFG) else found


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("others", OTHERS, ids=str)
@pytest.mark.parametrize("name", FITTED)
def test_parameters_set_after_a_fit_change_no_answer(name: str, others: dict[str, Any], tmp_path: Path) -> None:
    model = FITTED[name]()
    before = answers(model)
    assert np.isfinite(before[1]).all()
    model.set_params(**others)
    assert answers(model) == before
    fastlin.save(model, tmp_path / "model.fastlin")
    assert answers(fastlin.load(tmp_path / "model.fastlin")) == before


def test_split_tags_set_after_a_fit_change_no_answer() -> None:
    model = FITTED["PCFG"]()
    before = answers(model)
    assert answers(model.set_params(split_tags=False)) == before


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_learning_goes_on_with_the_form_of_the_grammar_that_there_is() -> None:
    brackets = ["(S (NP-SBJ the cat) (VP sees (NP a small dog)))"]
    wanted = PCFG(rare_count=0, max_iter=2).fit(TREES)
    found = PCFG(rare_count=0, max_iter=2).fit(TREES).set_params(vertical=1, remove_functions=False)
    wanted.fit_unlabeled(WORDS, brackets=brackets)
    found.fit_unlabeled(WORDS, brackets=brackets)
    assert answers(found) == answers(wanted)
    assert np.isfinite(answers(found)[1]).all()


def test_a_sampled_grammar_has_the_form_of_its_rules() -> None:
    model = PCFG(rare_count=0, alpha=1.0).fit(TREES).set_params(vertical=1)
    assert np.isfinite(model.sample_prior(0).log_joint(TREES)).all()


@pytest.mark.parametrize("name", ["PCFG", "SpanCRF"])
def test_a_file_without_a_form_has_the_one_of_its_parameters(name: str, tmp_path: Path) -> None:
    model, path = FITTED[name](), tmp_path / "model.fastlin"
    fastlin.save(model, path)
    header, arrays = storage.read_archive(path, "model", mmap=False)
    del header["model"]["learnt"]["form"]
    storage.write_archive(path, "model", header, arrays)
    assert answers(fastlin.load(path)) == answers(model)


@pytest.mark.parametrize("name", ["PCFG", "SpanCRF"])
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [("vertical", 0, "form: vertical must be"), ("horizontal", -1, "form: horizontal must be"),
     ("split_tags", "no", "form: split_tags must be"), ("other", 1, "form must have horizontal, vertical")],
)  # fmt: skip
def test_a_form_that_is_none_is_refused(name: str, place: str, value: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.fastlin"
    fastlin.save(FITTED[name](), path)
    header, arrays = storage.read_archive(path, "model", mmap=False)
    pairs = dict(header["model"]["learnt"]["form"]["dict"]) | {place: value}
    header["model"]["learnt"]["form"]["dict"] = [list(pair) for pair in pairs.items()]
    storage.write_archive(path, "model", header, arrays)
    with pytest.raises(storage.ModelFileError, match=message):
        fastlin.load(path)
