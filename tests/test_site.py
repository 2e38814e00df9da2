"""The site: links that work on a forge lead to its pages, and docstrings are text."""

import importlib
import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BENCH = DOCS.parent / "bench"


@pytest.fixture(scope="module")
def module_of_docs():
    """Import a module of the folder of the site."""
    sys.path[:0] = [str(DOCS), str(BENCH)]
    yield importlib.import_module
    sys.path.remove(str(DOCS))
    sys.path.remove(str(BENCH))


@pytest.fixture(scope="module")
def site_pages(module_of_docs):
    return module_of_docs("site_pages")


@pytest.mark.parametrize(
    "link, folder, place, led",
    [
        ("[a](../CONTRIBUTING.md#build)", "docs", "", "[a](_generated/contributing.md#build)"),
        ("[a](../../SECURITY.md)", "docs/moving", "moving", "[a](../_generated/security.md)"),
        ("[a](docs/guide.md#train)", "", "_generated", "[a](../guide.md#train)"),
        ("[a](../learners.md)", "docs/course", "course", "[a](../learners.md)"),
        ("[a](https://example.org/x)", "docs", "", "[a](https://example.org/x)"),
        ("[a](#here)", "docs", "", "[a](#here)"),
        ("[a](../bench/README.md)", "docs", "", "[a](https://forge/blob/main/bench/README.md)"),
    ],
)
def test_links_lead_to_pages(site_pages, link, folder, place, led):
    assert site_pages.relinked(link, folder, place, "https://forge") == led


def test_without_a_repository_a_link_out_of_the_site_is_text(site_pages):
    assert site_pages.relinked("see [a](../setup.py).", "docs", "", None) == "see a."


def test_docstrings_are_text_but_for_their_examples(site_pages):
    lines = ["coef_ : `...`, ``a_``", "max |x| of `coef_`", ">>> model.coef_ | 1", "array_", "", "n_iter_, classes_"]
    escaped = ["coef\\_ : ``...``, ``a_``", "max \\|x\\| of `coef_`", *lines[2:5], "n_iter\\_, classes\\_"]
    assert list(site_pages.escaped(lines)) == escaped


def test_every_page_is_in_a_table_of_contents():
    listed = {line.strip() for page in DOCS.glob("*.rst") for line in page.read_text().splitlines()}
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    pages = {page for page in pages if not page.startswith("_generated")}
    assert pages <= listed


def test_the_reference_has_a_page_for_every_public_name(site_pages):
    pages = dict(site_pages.reference())
    assert {"api/index.rst", "api/fastlin.lm.NgramModel.rst", "api/fastlin.save.rst"} <= set(pages)
    assert ":members: " in pages["api/fastlin.Perceptron.rst"]
    assert ":py:class:`CountVectorizer <fastlin.CountVectorizer>`" in pages["api/fastlin.text.rst"]


def test_ratios_are_found_in_whatever_benchmarks_write(module_of_docs):
    """Of all forms of entries; a rival of float32 is held against ours of float32."""
    ratios_of = module_of_docs("report").ratios_of
    epochs = {"ours float64": 1.0, "ours float32": 0.5, "VW float32": 2.0}
    entry = {"question": "binary", **{name: {"whole": 9.0, "further": value} for name, value in epochs.items()}}
    texts = {"question": "words", "seconds": {"ours": 2.0, "scikit-learn": 1.0}, "ratio": 0.5}
    results = {"online": [entry], "newsgroups": {"others": [texts], "memory": {"ours": 3.0}}}
    assert list(ratios_of(results)) == [("online: binary, VW float32", 4.0), ("newsgroups: words, scikit-learn", 0.5)]
    steps = {"question": "bayes", "ours:fit": 1.0, "rival:fit": 3.0, "ours:predict": 2.0, "rival:predict": 1.0}
    assert list(ratios_of([steps])) == [("bayes: fit", 3.0), ("bayes: predict", 0.5)]
    settings = {"question": "hinge", "seconds": {"ours, 1 epoch": 1.0, "ours, 5": 2.0, "LIBLINEAR -e 1": 9.0}}
    assert list(ratios_of(settings)) == []  # nobody says which of ours it is to be held against
    assert list(ratios_of([{"question": "one", "ours": 0.5, "rival": 4.0}])) == [("one", 8.0)]
    assert list(ratios_of([{"question": "svm", "gap": 1e-3, "seconds": {"ours": 1.0, "LIBLINEAR": 2.0}}])) == [
        ("svm: gap 0.001, LIBLINEAR", 2.0)
    ]
    assert list(ratios_of([{"question": "ridge", "scikit-learn ÷ ours": 7.0}])) == [("ridge, scikit-learn", 7.0)]


def test_what_was_measured_is_collected_drawn_and_compared(module_of_docs, tmp_path, monkeypatch):
    report, charts = module_of_docs("report"), module_of_docs("charts")
    monkeypatch.setenv("FASTLIN_MACHINE", "Some(R) CPU @ 2 GHz")
    measured, results = tmp_path / "measured", tmp_path / "results"
    measured.mkdir()
    with pytest.raises(SystemExit, match="no script"):
        report.collect(measured, results)
    entry = {"question": "a | b", "ours": 1.0, "rival": 4.0}
    content = {"facts": {"versions": {"fastlin": "0.1.0", "nltk": "missing"}}, "results": [entry]}
    (measured / "online.json").write_text(json.dumps(content))
    (measured / "none.json").write_text(json.dumps({"facts": {}, "results": {"ours": 1.0}}))
    path = report.collect(measured, results)
    assert path.stem.partition("-")[2] == "some"
    kept = json.loads(path.read_text())
    assert kept["ratios"] == {"online": {"a | b": 4.0}}
    later = results / "later-some.json"
    later.write_text(
        json.dumps(kept | {"facts": kept["facts"] | {"committed": "9"}, "ratios": {"online": {"a | b": 3.0}}})
    )
    assert report.newest(results) == [later]
    assert "0.75" in report.compare(path, later)
    assert "1 ratios, 1 below 0.9" in report.compare(path, later)
    assert "fastlin 0.1.0." in report.tables(later)
    assert charts.draw_charts([later], tmp_path / "charts") == ["online-some"]
    assert "<svg" in (tmp_path / "charts" / "online-some.svg").read_text()
    assert report.newest(tmp_path / "empty") == []
