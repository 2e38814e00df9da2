"""`fastlin train --cluster`: the model of `fastlin.dask`, in a file that needs no cluster."""

import numpy as np
import pytest
import scipy.sparse as sp

import fastlin
from fastlin import Corpus
from fastlin.cli import main
from fastlin.data import corpus as corpora
from support.clusters import here

pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")  # that Dask's servers leave open
rng = np.random.default_rng(4)
X = sp.csr_array(sp.random_array((200, 20), density=0.3, rng=rng))
LABELS = rng.choice(["a", "b"], 200)


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 300)
    return Corpus(X, LABELS).write(tmp_path / "corpus")


def test_a_model_is_learnt_on_a_cluster_and_needs_none(stored, tmp_path, capsys):
    file = tmp_path / "m.fastlin"
    with here(2) as client:
        address = client.scheduler.address
        assert main(["train", str(stored.path), "-m", str(file), "--learner", "nb", "--cluster", address]) == 0
    assert "200 documents" in capsys.readouterr().out
    model = fastlin.load(file)
    (learner,) = (step for _, step in model.steps) if hasattr(model, "steps") else (model,)
    assert type(learner) is fastlin.MultinomialNB
    local = fastlin.MultinomialNB(alpha=0.1).fit(stored)
    np.testing.assert_array_equal(learner.predict_proba(X), local.predict_proba(X))


@pytest.mark.parametrize(
    "words, error",
    [
        (["--cluster", "local:2", "--learner", "svm"], "--cluster: svm (LinearSVC) is learnt on one machine; clusters"),
        (["--cluster", "here"], "--cluster takes an address, tcp://HOST:PORT, or local:N, got 'here'"),
        (["--cluster", "tcp://127.0.0.1:9", "--set", "tol=1"], "127.0.0.1:9"),
    ],
)
def test_what_no_cluster_can_do_is_said(words, error, stored, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fastlin.cli.clusters.CONNECT_SECONDS", 1)
    assert main(["train", str(stored.path), "-m", str(tmp_path / "m.fastlin"), *words]) == 2
    assert error in capsys.readouterr().err


def test_files_that_are_no_corpus_do_not_travel(tmp_path, capsys):
    (tmp_path / "train.tsv").write_text("a\tone\nb\ttwo\n")
    assert main(["train", str(tmp_path / "train.tsv"), "-m", str(tmp_path / "m"), "--cluster", "local:2"]) == 2
    assert "FILE is the folder of a stored corpus, which all workers see" in capsys.readouterr().err
