"""What is imported before a model answers: scikit-learn without pandas and scipy.stats, which are there when wanted."""

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest

import fastlin
from fastlin.runtime import sklearn_import
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.text.templates import ner

SENTENCES, LABELS = [["the", "dog", "barks"], ["a", "cat", "ran"]], [["D", "N", "V"]] * 2
HEAVY = "pandas", "scipy.stats", "scipy.special", "narwhals", "polars", "matplotlib"


def run(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("tagger", [CRF(features=ner()), HMM(), MEMM(), StructuredPerceptron()])
def test_a_tagger_of_a_file_answers_without_libraries_that_it_does_not_use(tagger, tmp_path):
    fastlin.save(tagger.fit(SENTENCES, LABELS), tmp_path / "tagger.fastlin")
    code = (
        "import sys, fastlin\n"
        "print(fastlin.load(sys.argv[1]).predict([['the', 'dog', 'ran']])[0])\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = run(code, str(tmp_path / "tagger.fastlin"))
    assert done.stdout.splitlines() == ["['D', 'N', 'V']", "[]"], done.stderr


def test_who_asks_for_a_library_afterwards_has_the_real_one():
    code = (
        "import sys\n"
        "from fastlin import Perceptron\n"
        "from sklearn.utils import fixes, _array_api\n"
        "assert 'pandas' not in sys.modules\n"
        "assert fixes.pd.__version__ and fixes.pd.DataFrame is sys.modules['pandas'].DataFrame\n"
        "import pandas, scipy.stats, scipy.special\n"
        "import narwhals.stable.v2 as nw\n"
        "assert all(type(module).__name__ == 'module' for module in (pandas, scipy.stats, scipy.special, nw))\n"
        "assert scipy.stats is sys.modules['scipy.stats'] and scipy.special.expit(0.0) == 0.5\n"
        "frame = pandas.DataFrame([[0.0, 1.0], [1.0, 0.0]], columns=['a', 'b'])\n"
        "assert Perceptron().fit(frame, [0, 1]).feature_names_in_.tolist() == ['a', 'b']\n"
        "print('done')"
    )
    done = run(code)
    assert done.stdout == "done\n", done.stderr


def test_what_is_asked_for_while_scikit_learn_is_imported_is_the_real_one_too():
    code = (
        "import sys\n"
        "from fastlin.runtime import sklearn_import\n"
        "modules = sklearn_import.stand_in(('xml', 'xml.dom', 'xml.dom.minidom'))\n"
        "import xml.dom.minidom as text\n"
        "assert text is modules[-1] and text.parseString('<a/>').documentElement.tagName == 'a'\n"
        "import xml.dom.minidom\n"
        "assert xml.dom.minidom is sys.modules['xml.dom.minidom'] and xml is not modules[0]\n"
        "assert sklearn_import.stand_in(('xml',)) == [] == sklearn_import.stand_in(('no_such_library',))\n"
        "print('done')"
    )
    done = run(code)
    assert done.stdout == "done\n", done.stderr


def test_an_import_that_fails_leaves_nothing_behind():
    code = (
        "import importlib.util, sys\n"
        "find_spec = importlib.util.find_spec\n"
        "def fail(name):\n"
        "    if name == 'scipy.stats':\n"
        "        raise ImportError(name)\n"
        "    return find_spec(name)\n"
        "importlib.util.find_spec = fail\n"
        "try:\n"
        "    import fastlin.runtime.sklearn_import\n"
        "except ImportError as error:\n"
        "    print(error, [name for name in ('pandas', 'scipy.special') if name in sys.modules])"
    )
    done = run(code)
    assert done.stdout == "scipy.stats []\n", done.stderr


def test_what_another_thread_begins_to_import_meanwhile_stays(monkeypatch):
    name = "fastlin_imported_elsewhere"
    other = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, other)
    del sys.modules[name]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: sys.modules.setdefault(name, other))
    assert sklearn_import.stand_in((name,)) == []
    assert sys.modules[name] is other
