"""The site: links that work on a forge lead to its pages, and docstrings are text."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def site_pages():
    spec = importlib.util.spec_from_file_location("site_pages", DOCS / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    lines = ["coef_ : array", "max |x| of `coef_`", ">>> model.coef_ | 1", "array_", "", "n_iter_, classes_"]
    escaped = ["coef\\_ : array", "max \\|x\\| of `coef_`", *lines[2:5], "n_iter\\_, classes\\_"]
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
