"""Dumps of CRFsuite: the models tag what CRFsuite tags, and files that are wrong are refused."""

import numpy as np
import pytest

import fastlin
from fastlin import ModelFileError
from fastlin.interchange import read_crfsuite

rng = np.random.default_rng(0)
WORDS, TAGS = [f"w{i}" for i in range(12)], ["N", "V:x", "D --> y"]
SENTENCES = [
    [{"w": WORDS[k], "bias": 1.0, "length": float(k) / 4, "odd --> N: 1": k % 2 == 1} for k in rng.integers(0, 12, n)]
    for n in rng.integers(1, 8, 30)
]
ANSWERS = [[TAGS[(hash_of + place) % 3] for place, hash_of in enumerate(rng.integers(0, 2, len(s)))] for s in SENTENCES]
DUMP = """FILEHEADER = {
  magic: lCRF
}

LABELS = {
      0: N
      1: D
}

ATTRIBUTES = {
      0: the
      1: a: --> N
}

TRANSITIONS = {
  (1) D --> N: 2.000000
}

STATE_FEATURES = {
  (0) the --> D: 1.500000
  (0) a: --> N --> N: -0.250000
}

"""


@pytest.mark.peer("pycrfsuite")
@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_a_model_tags_what_crfsuite_tags(algorithm, tmp_path):
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for sentence, tags in zip(SENTENCES, ANSWERS, strict=True):
        trainer.append(sentence, tags)
    trainer.set_params({"max_iterations": 20, "feature.possible_transitions": True})
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    tagger.dump(str(tmp_path / "dump"))
    model = read_crfsuite(tmp_path / "dump")
    unseen = [*SENTENCES, [{"w": "never", "bias": 1.0}, {}, {"other": 2.0}]]
    assert model.predict(unseen) == [tagger.tag(sentence) for sentence in unseen]
    for sentence, marginals in zip(unseen, model.predict_marginals(unseen), strict=True):
        tags = tagger.tag(sentence)
        assert np.isclose(np.log(tagger.probability(tags)), model.log_proba([sentence], [tags])[0], atol=1e-4)
        expected = [[tagger.marginal(tag, place) for tag in model.classes_] for place in range(len(sentence))]
        np.testing.assert_allclose(marginals, expected, atol=1e-4)


def test_a_model_is_what_the_dump_says_and_goes_into_files(write, tmp_path):
    model = read_crfsuite(write(DUMP))
    assert model.transition_features_ == {("D", "N"): 2.0}
    assert model.state_features_ == {("the", "D"): 1.5, ("a: --> N", "N"): -0.25}
    fastlin.save(model, tmp_path / "model.fastlin")
    assert fastlin.load(tmp_path / "model.fastlin").predict([[["the"], ["dog"]]]) == [["D", "N"]]


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("      0: N\n", "", "line 6: '      1: D' is not the name that has the number 0 in LABELS"),
        ("1: D", "1: N", "number 1 in LABELS"),
        ("      0: N\n      1: D\n", "", "LABELS names nothing"),
        ("      0: the\n      1: a: --> N\n", "", "ATTRIBUTES names nothing"),
        ("1: a:", "7: a:", "number 1 in ATTRIBUTES"),
        ("1: a:", "99999999999999: a:", "number 1 in ATTRIBUTES"),
        ("(1) D", "(0) D", "no weight of this section"),
        ("(1) D --> N", "(1) D --> X", "does not lead"),
        ("(0) the -->", "(0) that -->", "does not lead"),
        ("1.500000", "nan", "finite number"),
        ("1.500000", "1e999", "finite number"),
        ("  (1) D --> N: 2.000000\n", "  (1) D --> N: 2.000000\n" * 2, "has a weight already"),
        ("TRANSITIONS", "LABELS", "second time"),
        ("STATE_FEATURES", "STATES", "no section"),
        ("LABELS", "NAMES", "no section"),
    ],
)
def test_a_wrong_file_is_refused_where_it_is_wrong(old, new, words, write):
    path = write(DUMP.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=words) as refusal:
        read_crfsuite(path)
    assert str(path) in str(refusal.value)


def test_a_file_cut_anywhere_or_with_bytes_that_are_no_text_is_refused(write):
    whole = DUMP.strip().encode()
    for stop in range(len(whole)):
        with pytest.raises(ModelFileError):
            read_crfsuite(write(whole[:stop]))
    for place in range(0, len(whole), 7):
        with pytest.raises(ModelFileError):
            read_crfsuite(write(whole[:place] + b"\xff" + whole[place + 1 :]))
