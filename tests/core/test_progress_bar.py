"""Bars of fits: what they say in a notebook, on a terminal, and where nobody looks; how much is left."""

import re
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from fastlin import LinearSVC, LogisticRegression, ProgressBar, SGDClassifier
from fastlin.runtime import progress
from fastlin.sequence import CRF

RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (60, 8)).astype(float)
Y = (X[:, 0] > X[:, 1]).astype(int)


@pytest.fixture
def notebook(monkeypatch):
    """A process that is the kernel of a notebook: what it displays, each display in all of its versions."""
    shown = []

    class Handle:
        def __init__(self, html):
            self.versions = [html]
            shown.append(self.versions)

        def update(self, html):
            self.versions.append(html)

    shell, display = ModuleType("IPython"), ModuleType("IPython.display")
    shell.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.HTML, display.display = str, lambda html, display_id: Handle(html)
    shell.display = display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress, "is_installed", lambda package: False)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    return shown


def test_a_notebook_sees_a_bar_the_time_left_and_what_it_came_to(notebook, capsys):
    model = SGDClassifier(max_iter=4, tol=None, random_state=0, callback=ProgressBar("<fit>")).fit(X, Y)
    (versions,) = notebook
    assert len(versions) == 1 + 4 + 1
    assert "<progress></progress>" in versions[0] or 'value="0' in versions[0]
    assert '<progress value="0.5000"></progress>' in versions[2]
    assert re.search(r"50%  \d:\d\d left  [\d.]+k? epochs/s  loss", versions[2])
    assert versions[-1].startswith("<pre>&lt;fit&gt;  4 epochs  0:00  loss")
    assert capsys.readouterr() == ("", "")
    np.testing.assert_array_equal(model.coef_, SGDClassifier(max_iter=4, tol=None, random_state=0).fit(X, Y).coef_)


def test_each_fit_has_a_bar_and_the_context_ends_the_last(notebook):
    with ProgressBar() as bar:
        for learner in (LogisticRegression(solver="lbfgs"), LinearSVC(), CRF()):
            is_tagger = isinstance(learner, CRF)
            rows = ([[["a"], ["b"]]] * 5, [["A", "B"]] * 5) if is_tagger else (X, Y)
            learner.set_params(callback=bar).fit(*rows)
    assert [versions[-1].split()[0] for versions in notebook] == [
        "<pre>LogisticRegression",
        "<pre>LinearSVC",
        "<pre>CRF",
    ]
    assert all("left" not in versions[-1] for versions in notebook)
    with pytest.raises(KeyboardInterrupt), ProgressBar() as bar:
        SGDClassifier(callback=lambda model, record: interrupted(bar, model, record)).fit(X, Y)
    assert "(not finished)" in notebook[-1][-1]


def interrupted(bar, model, record):
    bar(model, record)
    raise KeyboardInterrupt


def test_the_time_left_is_that_until_the_gap_is_as_wanted(notebook, monkeypatch):
    """A gap that falls by ten each second, from 1 to 1e-4 of the objective: after two of four seconds, two are left."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    bar, model = ProgressBar(), SimpleNamespace(max_iter=1000, tol=1e-4)
    for second in range(3):
        now[0] = float(second)
        bar(model, {"epoch": second, "gap": 10.0**-second, "objective": 1.0})
    assert "50%  0:02 left" in notebook[0][-1]
    now[0] = 3.0
    bar(model, {"epoch": 3, "gap": 10.0, "objective": 1.0})  # a gap that grew says nothing
    assert "0%" in notebook[0][-1]
    assert "16:3" in notebook[0][-1]


@pytest.mark.parametrize(
    "terminal, kernel, packages, kind",
    [
        (False, False, {"rich", "tqdm"}, progress.Stage),
        (True, False, {"rich", "tqdm"}, progress.Bar),
        (True, False, {"tqdm"}, progress.TqdmBar),
        (True, False, set(), progress.Line),
        (True, True, {"rich"}, progress.NotebookBar),
        (False, True, {"tqdm"}, progress.NotebookBar),
        (False, True, {"tqdm", "ipywidgets"}, progress.TqdmBar),
    ],
)
def test_the_display_suits_where_it_is_seen(monkeypatch, terminal, kernel, packages, kind):
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: terminal))
    monkeypatch.setattr(progress, "in_notebook", lambda: kernel)
    monkeypatch.setattr(progress, "is_installed", lambda package: package in packages)
    assert progress.display_kind() is kind


def test_without_a_terminal_or_notebook_nothing_is_written(capsys):
    SGDClassifier(max_iter=3, tol=None, callback=ProgressBar()).fit(X, Y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.peer("tqdm")
def test_bars_of_tqdm_reach_the_end(capsys):
    with progress.TqdmBar("fit", 4, "epochs") as stage:
        for done in (1.0, 3.0, 4.0):
            stage.update(done, "loss 1")
    assert stage.bar.n == 4


@pytest.mark.peer("ipykernel")
@pytest.mark.peer("nbclient")
def test_a_kernel_shows_a_bar_below_the_cell():
    import nbclient
    import nbformat

    cell = (
        "from fastlin import ProgressBar, SGDClassifier\n"
        "from fastlin.runtime import progress\n"
        "progress.is_installed = lambda package: False\n"
        "SGDClassifier(max_iter=4, tol=None, callback=ProgressBar()).fit([[0.0], [1.0]], ['a', 'b']);"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    (shown,) = (output["data"]["text/html"] for output in book.cells[0].outputs if "data" in output)
    assert shown.startswith("<pre>SGDClassifier  4 epochs")
