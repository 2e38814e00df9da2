"""Learners of numbers on the command line: the models, figures and mistakes of the same steps in Python."""

import json

import numpy as np
import pytest
from sklearn import metrics
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin import LinearSVR, Ridge, SGDRegressor, TfidfVectorizer
from fastlin.data import ReadError, read
from fastlin.inspection import RegressionAccumulator, regression_report, regressor
from support.command_line import write

WEIGHTS = {"good": 1.0, "great": 2.0, "bad": -1.0, "awful": -2.0, "film": 0.0, "plot": 0.1, "scene": 0.0, "cast": 0.0}
LEARNERS = {
    "ridge": Ridge(random_state=0),
    "least-squares --alpha 0.3": Ridge(alpha=0.3, random_state=0),
    "svr --C 3 --loss squared_epsilon_insensitive": LinearSVR(
        C=3, tol=1e-3, loss="squared_epsilon_insensitive", random_state=0
    ),
    "sgd-regressor --epochs 3 --seed 7": SGDRegressor(
        learning_rate="adagrad", eta0=1.0, alpha=1e-6, max_iter=3, tol=None, random_state=7, dtype="float32"
    ),
}


def rated(n, seed):
    """(stars, text), the stars with a fraction."""
    rng = np.random.default_rng(seed)
    texts = [rng.choice([*WEIGHTS], size=6).tolist() for _ in range(n)]
    return [(f"{sum(map(WEIGHTS.get, text)) + rng.normal():.3f}", " ".join(text)) for text in texts]


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    """train.tsv, dev.tsv and a model of theirs; nobody writes here."""
    place = tmp_path_factory.mktemp("stars")
    write(place / "train.tsv", rated(120, 0))
    write(place / "dev.tsv", rated(40, 1))
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True, dtype=np.float32), Ridge())
    fastlin.save(model.fit(*halves(place / "train.tsv")), place / "m")
    return place


def halves(path):
    """Texts and targets."""
    pairs = [line.split("\t") for line in path.read_text().splitlines()]
    return [text for _, text in pairs], [float(target) for target, _ in pairs]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_model_is_that_of_the_same_steps_in_python(shell, stars, tmp_path, learner):
    words = ["train", stars / "train.tsv", "-m", tmp_path / "m", "--dev", stars / "dev.tsv", "--learner"]
    done = shell.right(*words, *learner.split())
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True, dtype=np.float32), LEARNERS[learner])
    pipeline.fit(*halves(stars / "train.tsv"))
    texts, targets = halves(stars / "dev.tsv")
    assert "from 120 documents" in done.out
    assert f"R² on {stars / 'dev.tsv'}: {pipeline.score(texts, targets):.4f}" in done.out
    printed = shell.right("predict", stars / "dev.tsv", "-m", tmp_path / "m").lines
    np.testing.assert_array_equal([float(line) for line in printed], pipeline.predict(texts))


def test_the_figures_are_scikit_learns_however_the_documents_are_cut(shell, stars):
    texts, targets = halves(stars / "dev.tsv")
    predicted = fastlin.load(stars / "m").predict(texts)
    found = json.loads(shell.right("evaluate", stars / "m", stars / "dev.tsv", "--json").out)
    expected = {
        "documents": 40,
        "r2": metrics.r2_score(targets, predicted),
        "mae": metrics.mean_absolute_error(targets, predicted),
        "rmse": metrics.root_mean_squared_error(targets, predicted),
    }
    assert found == pytest.approx(expected, rel=1e-12)
    far = np.asarray(targets) + 1e6  # where sums of squares alone would lose all digits
    for size in (1, 7, 40):
        tally = RegressionAccumulator()
        for start in range(0, 40, size):
            tally.add(far[start : start + size], predicted[start : start + size] + 1e6)
        assert tally.report().as_dict() == pytest.approx(expected, rel=1e-7)
    assert regression_report([2.0, 2.0], [2.0, 2.0]).r2 == 1.0
    assert regression_report([2.0, 2.0], [2.0, 3.0]).r2 == 0.0


def test_several_models_and_checks(shell, stars):
    both = json.loads(shell.right("evaluate", stars / "m", stars / "m", stars / "dev.tsv", "--json").out)["models"]
    assert [one["model"] for one in both] == [str(stars / "m")] * 2
    assert both[0]["r2"] == both[1]["r2"]
    words = ["evaluate", stars / "m", stars / "dev.tsv", "--min-r2"]
    assert shell(*words, "0.1").code == 0
    done = shell(*words, "0.99")
    assert (done.code, done.err) == (1, "fastlin evaluate: R² is below 0.99\n")


def test_columns_are_handed_on(shell, stars):
    words = ["predict", "-", "-m", stars / "m", "--format", "tsv", "--keep", "0", "--text", "1", "--header"]
    done = shell.right(*words, "--json", stdin="id\ttext\n7\tgreat film\n")
    assert json.loads(done.out) == {
        "columns": {"0": "7"},
        "value": fastlin.load(stars / "m").predict(["great film"])[0],
    }


@pytest.mark.parametrize("on", ["--dev", "--folds"])
@pytest.mark.parametrize("metric", [(), ("--metric", "mae")])
def test_tune_keeps_the_best_value(shell, stars, tmp_path, on, metric):
    words = ["tune", stars / "train.tsv", on, stars / "dev.tsv" if on == "--dev" else 3, "--learner", "ridge", *metric]
    found = json.loads(shell.right(*words, "--path", "1e6,0.5,1e-3", "-m", tmp_path / "m", "--json").out)
    name, better = ("mae", min) if metric else ("r2", max)
    assert found["best"] == better(found["path"], key=lambda row: row[name])["alpha"] < 1e6
    assert fastlin.load(tmp_path / "m")[-1].alpha == found["best"]


def test_what_a_regressor_holds(shell, stars):
    shown = shell.right("inspect", stars / "m", "--top", "4").out
    assert shown == f"{regressor(fastlin.load(stars / 'm'), 4)}\n"
    plain = json.loads(shell.right("inspect", stars / "m", "--top", "4", "--json").out)
    assert {*plain["strongest"][0]} == {"great", "awful", "good", "bad"}
    several = Ridge().fit(np.eye(3), np.arange(6.0).reshape(3, 2))
    assert [one.label for one in regressor(several).strongest] == [0, 1]


MALFORMED = {
    "tsv": ("1\tgood\n\n2.5\tbad\nten\tawful\n", 4, "the label 'ten' is no number"),
    "csv": ('label,text\n1,"good\nfilm"\ninf,bad\n', 4, "the label 'inf' is not finite"),
    "jsonl": ('{"label": 1, "text": "good"}\n{"label": true, "text": "bad"}\n', 2, "the label 'true' is no number"),
    "ft": ("__label__1 good\n__label__nan bad\n", 2, "the label 'nan' is not finite"),
    "vw": ("1 | good\n| bad\n", 2, "the label '' is no number"),
}


@pytest.mark.parametrize("suffix", MALFORMED)
def test_a_label_that_is_no_number_names_its_line(shell, stars, tmp_path, suffix):
    text, line, what = MALFORMED[suffix]
    path = tmp_path / f"x.{suffix}"
    path.write_text(text)
    for words in (["train", path, "-m", tmp_path / "m", "--learner", "ridge"], ["evaluate", path, "-m", stars / "m"]):
        if words[0] == "train" or suffix != "vw":  # whose documents are features
            assert f"{path}, line {line}: {what}" in shell.wrong(*words)
    with pytest.raises(ReadError, match=what):
        list(read(path, numeric=True))
    reader = read(path, numeric=True, on_error="skip")
    assert [label for block in reader for label in block.labels] == [1.0, 2.5][: 1 + (suffix == "tsv")]
    assert reader.skipped.count == 1


def test_tables_and_rows_of_numbers(shell, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"label": [1.5, 2.0], "text": ["good film", "bad film"]}), tmp_path / "x.parquet")
    shell.right("train", tmp_path / "x.parquet", "-m", tmp_path / "m", "--learner", "ridge")
    pq.write_table(pa.table({"label": ["1", "x"], "text": ["good", "bad"]}), tmp_path / "bad.parquet")
    assert "row 2: the label 'x' is no number" in shell.wrong(
        "evaluate", tmp_path / "bad.parquet", "-m", tmp_path / "m"
    )
    (tmp_path / "x.svm").write_text("1.5 1:1\n-2 2:1\n0.5 1:1 2:1\n")
    shell.right("train", tmp_path / "x.svm", "-m", tmp_path / "rows", "--learner", "ridge", "--alpha", "1e-3")
    assert len(shell.right("predict", tmp_path / "x.svm", "-m", tmp_path / "rows").lines) == 3


@pytest.mark.parametrize(
    "command, words, what",
    [
        ("predict", "dev.tsv --proba", "--proba is of labels"),
        ("predict", "dev.tsv --top 2", "--top is of labels"),
        ("evaluate", "dev.tsv --min-f1 0.3", "--min-f1 is of labels"),
        ("evaluate", "dev.tsv --auc", "--auc is of labels"),
        ("inspect", "--text good", "--text is of models of labels"),
        ("report", "dev.tsv -o page.html", "predicts numbers"),
        ("train", "train.tsv --learner ridge --out-of-core", "all rows in memory"),
        ("train", "train.tsv --learner ridge --memory 1K", "may not fit into memory"),
        ("train", "train.tsv --learner svr --stream", "--stream is for sgd and ftrl"),
        ("train", "none.txt --learner ridge", "have no labels"),
        ("tune", "train.tsv --learner ridge --dev dev.tsv --metric accuracy", "ridge has r2, mae, rmse"),
        ("tune", "train.tsv --learner svm --dev dev.tsv --metric r2", "svm has accuracy, macro_f1, log_loss"),
    ],
)
def test_what_is_not_of_numbers_is_refused(shell, stars, tmp_path, monkeypatch, command, words, what):
    monkeypatch.chdir(stars)
    (tmp_path / "none.txt").write_text("good\n")
    words = words.replace("none.txt", str(tmp_path / "none.txt")).replace("page.html", str(tmp_path / "page.html"))
    model = {"train": ["-m", str(tmp_path / "m")], "tune": [], "inspect": ["m"]}.get(command, ["-m", "m"])
    assert what in shell.wrong(command, *model, *words.split())


def test_models_of_labels_have_no_r2(shell, folder, stars):
    assert "--min-r2" in shell.wrong("evaluate", folder / "model.fastlin", folder / "dev.tsv", "--min-r2", "0.5")
    both = ["evaluate", folder / "model.fastlin", stars / "m", folder / "dev.tsv"]
    assert "one by one" in shell.wrong(*both)
