"""The structured perceptron beside CRFsuite's, in files, in pickles, and interrupted."""

import copy
import pickle

import numpy as np
import pytest

import fastlin
from fastlin.engine.chain import tagger_online
from fastlin.sequence import StructuredPerceptron
from fastlin.sequence.perceptron import averaged_weights
from support.sequences import fit, items, problem, stacked

SENTENCES = [["the", "dog", "barks"], ["a", "dog", "ran"], ["the", "cat", "ran"], ["zebras", "ran"]] * 3
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"], ["N", "V"]] * 3
MORE = [["some", "fish", "swim", "fast"], ["fish"]], [["D", "N", "V", "A"], ["N"]]
KINDS = {
    "perceptron": {},
    "order 2": {"order": 2},
    "plain": {"average": False},
    "pa": {"loss": "pa", "C": 0.1},
    "mira": {"loss": "mira", "order": 2},
    "beam": {"beam_width": 2},
}
kinds = pytest.mark.parametrize("kind", KINDS)


def equal(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.transitions_, other.transitions_)
    assert (one.second_order_ is None) == (other.second_order_ is None)
    if one.second_order_ is not None:
        np.testing.assert_array_equal(one.second_order_, other.second_order_)


@pytest.mark.peer("pycrfsuite")
@pytest.mark.parametrize(("algorithm", "loss"), [("ap", "perceptron"), ("pa", "pa")])
def test_it_labels_about_as_well_as_crfsuite(tmp_path, algorithm, loss):
    """Not the same: its orders are others, and it averages in another way."""
    import pycrfsuite

    X, y = problem(600, n_features=12, n_labels=4, seed=1, longest=12)
    train, test = slice(0, 400), slice(400, 600)
    trainer = pycrfsuite.Trainer(algorithm=algorithm, params={"max_iterations": 20}, verbose=False)
    for x, codes in zip(X[train], y[train], strict=True):
        trainer.append(pycrfsuite.ItemSequence(items(x)), [str(code) for code in codes])
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    theirs = np.concatenate([np.array(tagger.tag(pycrfsuite.ItemSequence(items(x))), int) for x in X[test]])
    model = StructuredPerceptron(loss=loss, weights="observed", max_iter=20, random_state=0)
    model.fit([items(x) for x in X[train]], [codes.tolist() for codes in y[train]])
    right = np.concatenate(y[test])
    ours = np.concatenate(model.predict([items(x) for x in X[test]]))
    assert abs((ours == right).mean() - (theirs == right).mean()) < 0.02
    assert (ours == right).mean() > np.bincount(right).max() / len(right) + 0.1


@pytest.mark.parametrize("order", [1, 2])
def test_first_steps_of_mira_on_long_sequences(order):
    """All paths are equally good then."""
    X, y = problem(3, longest=300, shortest=300)
    model = fit(StructuredPerceptron(loss="mira", order=order, max_iter=1, C=0.1), X, y)
    assert model.history_[0]["updates"] == 3


@kinds
def test_what_comes_out_of_a_file_learns_on(tmp_path, kind):
    model = StructuredPerceptron(random_state=3, **KINDS[kind]).fit(SENTENCES, TAGS)
    fastlin.save(model, tmp_path / "model")
    for mmap in (True, False):
        loaded, one = fastlin.load(tmp_path / "model", mmap=mmap), copy.deepcopy(model)
        equal(loaded, one)
        equal(loaded.partial_fit(*MORE), one.partial_fit(*MORE))
        equal(loaded.partial_fit(SENTENCES, TAGS), one.partial_fit(SENTENCES, TAGS))


@pytest.mark.parametrize("weights", ["dense", "observed"])
def test_files_for_serving_do_not_learn_on(tmp_path, weights):
    model = StructuredPerceptron(weights=weights, random_state=3).fit(SENTENCES, TAGS)
    fastlin.save(model, tmp_path / "model", dtype="float32")
    loaded = fastlin.load(tmp_path / "model")
    assert loaded.predict(SENTENCES) == TAGS
    with pytest.raises(ValueError, match=r"learns on|needs weights"):
        loaded.partial_fit(*MORE)


@kinds
def test_pickles_and_copies_learn_on(kind):
    model = StructuredPerceptron(random_state=3, **KINDS[kind]).fit(SENTENCES, TAGS)
    model.predict(SENTENCES)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        one = copy.deepcopy(model)
        equal(other, one)
        equal(other.partial_fit(*MORE), one.partial_fit(*MORE))


@kinds
def test_it_does_not_depend_on_where_it_looks_up(kind, monkeypatch):
    """The work between two looks at Ctrl-C changes no bit."""
    X, y = problem(30, seed=2)
    whole = fit(StructuredPerceptron(random_state=0, **KINDS[kind]), X, y)
    monkeypatch.setattr(averaged_weights, "BUDGET", 1)
    equal(whole, fit(StructuredPerceptron(random_state=0, **KINDS[kind]), X, y))


@pytest.mark.parametrize("first", [True, False])
def test_ctrl_c(monkeypatch, first):
    X, y = problem(30, seed=2)
    rows, lengths = stacked(X)
    model = StructuredPerceptron(shuffle=False)
    if not first:
        fit(model, X, y)
    before, calls = copy.deepcopy(model), []

    def run(machine, *arguments):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return structured_run(machine, *arguments)

    structured_run = tagger_online.run
    monkeypatch.setattr(averaged_weights, "BUDGET", 1)
    monkeypatch.setattr(tagger_online, "run", run)
    with pytest.raises(KeyboardInterrupt):
        fit(copy.copy(model), X, y)
    assert hasattr(model, "classes_") == (not first)
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(rows, np.concatenate(y), classes=range(3), lengths=lengths)
    monkeypatch.undo()
    five = sum(lengths[:5])
    before.partial_fit(rows[:five], np.concatenate(y)[:five], classes=range(3), lengths=lengths[:5])
    equal(model, before)  # the five steps stay


def test_errors_in_a_callback():
    def fails(model, record):
        raise RuntimeError("told")

    model = StructuredPerceptron(callback=fails)
    with pytest.raises(RuntimeError, match="told"):
        model.fit(SENTENCES, TAGS)
    assert not hasattr(model, "classes_")
    model.set_params(callback=None).fit(SENTENCES, TAGS)
    before = model.coef_.copy()
    with pytest.raises(RuntimeError, match="told"):
        model.set_params(callback=fails).partial_fit(SENTENCES, [[tag.lower() for tag in tags] for tags in TAGS])
    assert model.classes_.tolist() == ["D", "N", "V", "d", "n", "v"]
    assert model.coef_.shape[1] == before.shape[1]


def test_threads_change_no_bit():
    X, y = problem(300, seed=2, longest=20)
    one = fit(StructuredPerceptron(random_state=0), X, y)
    rows, lengths = stacked(X)
    labels = one.predict(rows, lengths=lengths)
    assert one.set_params(n_jobs=2).predict(rows, lengths=lengths) == labels
