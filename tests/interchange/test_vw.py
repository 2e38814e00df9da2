"""Readable models of Vowpal Wabbit: the scores are VW's, and files that are wrong are refused."""

import numpy as np
import pytest

import fastlin
from fastlin import ModelFileError, data
from fastlin.interchange import VWHasher, read_vw

LINES = ["1 |t good film", "-1 |t bad film 12:0.5", "1 2.0 |t:2 good and warm |u x:3 zoë", "-1 | cold and bad 7"] * 5
LABELLED = [f"{1 + i % 3} {line.partition(' ')[2]}" for i, line in enumerate(LINES)]
UNSEEN = ["1 |t good never x:0.25 |new name |u 12", "1 |", "-1 |12 a:1e-3 b:-2 001", "1 | cold |t cold |cold t"]
MODEL = """Version 9.11.9
Id 
Min label:-50
Max label:50
bits:10
lda:0
0 ngram:
0 skip:
options: --hash_seed 7
Checksum: 396771088
:1
initial_t 0
norm normalizer 23
sd::oec.weighted_labeled_examples 0
19:-0.25 0.378902 1
t^a:b:21:0.5
292:1e-3
"""  # noqa: W291 - as VW writes it


def dicts_of(lines, tmp_path):
    path = tmp_path / "documents.vw"
    path.write_text("\n".join(lines) + "\n")
    return [features for block in data.read(path) for features in block.texts]


def scores_of(workspace, lines):
    return np.array([workspace.predict(line) for line in lines])


@pytest.mark.peer("vowpalwabbit")
@pytest.mark.parametrize("file", ["readable_model", "invert_hash"])
@pytest.mark.parametrize(
    "options, loss",
    [
        ("--loss_function logistic", None),
        ("--loss_function logistic --sgd -b 6 --hash all --hash_seed 7", None),
        ("--loss_function hinge --noconstant -b 12 --hash_seed 99", "hinge"),
        ("--ftrl --loss_function logistic --link logistic", None),
        ("--loss_function squared -b 24", None),
        ("--loss_function logistic --l1 1e-3 --l2 1e-3", None),
    ],
)
def test_scores_are_those_of_vw(options, loss, file, tmp_path):
    from vowpalwabbit import Workspace

    path = tmp_path / "model.txt"
    workspace = Workspace(f"{options} --quiet --{file} {path}")
    for line in LINES:
        workspace.learn(line)
    lines = LINES[:4] + UNSEEN
    expected = scores_of(workspace, lines)
    workspace.finish()
    model, rows = read_vw(path, loss=loss), dicts_of(lines, tmp_path)
    if "squared" in options:
        np.testing.assert_allclose(np.clip(model.predict(rows), -1, 1), expected, rtol=1e-4, atol=1e-5)
        return
    if "--link" in options:
        np.testing.assert_allclose(model.predict_proba(rows)[:, 1], expected, rtol=1e-4, atol=1e-5)
        return
    bound = 50 if "logistic" in options else 1  # within which VW keeps its scores
    scores = np.clip(model.decision_function(rows), -bound, bound)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    assert model.predict(rows).tolist() == ["1" if score > 0 else "-1" for score in expected]


@pytest.mark.peer("vowpalwabbit")
@pytest.mark.parametrize(("n_labels", "first"), [(3, 1), (5, 1), (3, 0)])
def test_one_against_all_is_a_model_a_label(n_labels, first, tmp_path):
    from vowpalwabbit import Workspace

    path = tmp_path / "model.txt"
    indexing = "" if first else "--indexing 0"
    workspace = Workspace(f"--oaa {n_labels} {indexing} --loss_function logistic --quiet --readable_model {path}")
    labelled = [f"{int(line[0]) - 1 + first}{line[1:]}" for line in LABELLED]
    for line in labelled:
        workspace.learn(line)
    lines = labelled[:4] + UNSEEN
    expected = [str(workspace.predict(line)) for line in lines]
    workspace.finish()
    assert read_vw(path).predict(dicts_of(lines, tmp_path)).tolist() == expected


def test_a_model_is_what_the_file_says_and_goes_into_files(write, tmp_path):
    pipeline = read_vw(write(MODEL))
    hasher, model = pipeline.named_steps["features"], pipeline.named_steps["model"]
    assert (hasher.n_features, hasher.hash_seed, hasher.hash) == (1024, 7, "strings")
    assert model.coef_[[0, 0, 0], [19, 21, 292]].tolist() == [-0.25, 0.5, 1e-3]
    assert model.coef_.nnz == 3
    fastlin.save(pipeline, tmp_path / "model.fastlin")
    rows = [{"t^good": 1.0}, {"12": -2.0}, {}]
    loaded = fastlin.load(tmp_path / "model.fastlin")
    np.testing.assert_array_equal(loaded.predict_proba(rows), pipeline.predict_proba(rows))


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("Version", "Ver", "line 1: .* is not how a readable model begins"),
        ("bits:10", "bits:63", "bits must be a whole number from 1 to 30"),
        ("bits:10\n", "", "bits is missing"),
        ("Max label:50\n", "", "Max label is missing"),
        ("Max label:50", "Max label:nan", "finite"),
        ("lda:0", "lda:3", "topics"),
        ("0 ngram:", "2 ngram:2 ", "several words"),
        ("--hash_seed 7", "--quadratic tu", "the option '--quadratic'"),
        ("--hash_seed 7", "--hash none", "strings or all"),
        ("--hash_seed 7", "--hash_seed 99999999999", "hash_seed must be"),
        ("--hash_seed 7", "--hash_seed", "hash_seed must be"),
        ("--hash_seed 7", "--oaa 0", "oaa must be"),
        ("--hash_seed 7", "--oaa 9999", "no room for 9999 labels"),
        ("--hash_seed 7", "--oaa 3", "label 4, and there are 3"),
        ("--hash_seed 7", "--oaa 2", "two models"),
        ("--hash_seed 7", "--indexing 2", "--indexing must be"),
        ("--hash_seed 7", "'", "options"),
        ("--hash_seed 7", "--link glf1", "--link must be"),
        ("19:-0.25", "1024:-0.25", "from 0 to 1023"),
        ("19:-0.25", "21:-0.25", "a weight already"),
        ("19:-0.25", "19:nan", "finite"),
        ("19:-0.25", "19:1e999", "finite"),
        ("19:-0.25", "19:1e101", "a finite number up to 1e.100"),
        ("19:-0.25", "l2_state 1e100\n19:-25", r"a weight becomes 2.5e\+101"),
        ("292:1e-3", "initial_t 0", "is no weight"),
        ("Checksum", "Sum", "no line of a readable model"),
    ],
)
def test_a_wrong_file_is_refused_where_it_is_wrong(old, new, words, write):
    path = write(MODEL.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=words) as refusal:
        read_vw(path)
    assert str(path) in str(refusal.value)


def test_a_file_cut_before_its_weights_is_refused(write):
    whole = MODEL.encode()
    for stop in range(whole.index(b"Checksum") + len("Checksum")):
        with pytest.raises(ModelFileError):
            read_vw(write(whole[:stop]))


def test_the_hasher_adds_up_what_shares_a_column_and_refuses_what_is_no_number():
    hasher = VWHasher(4)
    rows = hasher.transform([{"1": 0.5, "5": 1.0, "n^2": 2.0}, {}])
    assert rows.shape == (2, 4)
    assert rows.toarray()[0, 1] >= 1.5
    assert rows.has_canonical_format
    assert (hasher.transform([{"a": "b"}]) != hasher.transform([{"a=b": 1.0}])).nnz == 0
    for bad, words in [({"a": []}, "'a' must be a finite"), ({"a": np.nan}, "finite"), ({1: 2.0}, "strings")]:
        with pytest.raises((TypeError, ValueError), match=words):
            hasher.transform([{"fine": 1.0}, bad])
    with pytest.raises(TypeError, match="sample 1 must be a dict"):
        hasher.transform([{}, [("a", 1)]])
    with pytest.raises(ValueError, match="power of two"):
        VWHasher(12).fit()
