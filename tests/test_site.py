"""The site: links that work on a forge lead to its pages, and docstrings are text."""

import importlib
import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def module_of_docs():
    """Import a module of the folder of the site."""
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module
    sys.path.remove(str(DOCS))


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


def test_charts_are_drawn_of_what_benchmarks_write(module_of_docs, tmp_path):
    """Of both forms of entries; a rival of float32 is held against ours of float32."""
    charts = module_of_docs("charts")
    epochs = {"ours float64": 1.0, "ours float32": 0.5, "VW float32": 2.0}
    entry = {"question": "binary", **{name: {"whole": 9.0, "further": value} for name, value in epochs.items()}}
    texts = {"question": "words", "seconds": {"ours": 2.0, "scikit-learn": 1.0}, "ratio": 0.5}
    results = {"online": [entry], "newsgroups": {"others": [texts], "memory": {"ours": 3.0}}}
    (tmp_path / "both.json").write_text(json.dumps({"facts": {}, "results": results}))
    (tmp_path / "none.json").write_text(json.dumps({"facts": {}, "results": {"ours": 1.0}}))
    found = [("online: binary, VW float32", 4.0), ("newsgroups: words, scikit-learn", 0.5)]
    assert list(charts.ratios_of(results)) == found
    assert charts.draw_charts(tmp_path, tmp_path / "charts") == ["both"]
    assert "<svg" in (tmp_path / "charts" / "both.svg").read_text()
    assert charts.draw_charts(tmp_path / "empty", tmp_path) == []
