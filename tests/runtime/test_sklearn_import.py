"""What is imported before a model answers: scikit-learn without pandas and scipy.stats, which are there when wanted."""

import contextlib
import gc
import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin.runtime import sklearn_import
from fastlin.runtime.collection_pause import paused_collection
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.text.templates import ner

SENTENCES, LABELS = [["the", "dog", "barks"], ["a", "cat", "ran"]], [["D", "N", "V"]] * 2
HEAVY = (
    *("pandas", "scipy.stats", "scipy.special", "scipy.linalg", "scipy.interpolate", "narwhals", "polars"),
    *("asyncio", "psutil", "matplotlib"),
)


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


def test_a_pipeline_of_a_file_answers_without_what_preprocessing_imports(tmp_path):
    texts, labels = ["dog barks", "cat ran", "dog ran", "cat sat"], ["D", "C", "D", "C"]
    pipeline = make_pipeline(fastlin.CountVectorizer(), fastlin.LogisticRegression()).fit(texts, labels)
    fastlin.save(pipeline, tmp_path / "texts.fastlin")
    code = (
        "import sys, fastlin, gc\n"
        "print(fastlin.load(sys.argv[1]).predict(['the dog sat', 'cat'])[:], gc.isenabled())\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = run(code, str(tmp_path / "texts.fastlin"))
    assert done.stdout.splitlines() == ["['D' 'C'] True", "[]"], done.stderr


def test_names_that_scikit_learn_took_from_stand_ins_do_what_the_real_ones_do():
    code = (
        "from fastlin.runtime.sklearn_import import DeferredName, import_sklearn\n"
        "import_sklearn('sklearn.pipeline')\n"
        "import sys, numpy as np\n"
        "from sklearn import preprocessing\n"
        "spline, data = preprocessing._polynomial.BSpline, preprocessing._data\n"
        "assert type(spline) is type(data.boxcox) is DeferredName and 'scipy.interpolate' not in sys.modules\n"
        "X = np.arange(1.0, 11.0)[:, np.newaxis]\n"
        "made = preprocessing.SplineTransformer(degree=2, n_knots=3).fit(X)\n"
        "power = preprocessing.PowerTransformer('box-cox').fit(X)\n"
        "print(made.transform(X).sum(), np.allclose(power.inverse_transform(power.transform(X)), X))\n"
        "print(preprocessing.PolynomialFeatures(3).fit_transform(X).shape)\n"
        "from scipy.interpolate import BSpline\n"
        "import scipy.sparse.linalg, scipy.special\n"
        "class Own(spline): pass\n"
        "assert issubclass(Own, BSpline) and isinstance(made.bsplines_[0], spline)\n"
        "assert type(made.bsplines_[0]) is BSpline\n"
        "from sklearn.utils import sparsefuncs\n"
        "assert isinstance(scipy.sparse.linalg.aslinearoperator(X), sparsefuncs.LinearOperator)\n"
    )
    done = run(code)
    assert done.stdout.splitlines() == ["10.0 True", "(10, 4)"], done.stderr


@pytest.mark.parametrize("statement", ["import scipy.special._basic as it", "from scipy.special import _basic as it"])
def test_what_lies_in_a_deferred_package_is_imported_with_the_real_one(statement):
    code = (
        "import sys\n"
        "from fastlin.runtime import sklearn_import\n"
        "assert 'scipy.special' not in sys.modules\n"
        "modules = sklearn_import.stand_in(('scipy.special',))\n"
        "from scipy.special import comb\n"
        "assert 'scipy.special._basic' not in sys.modules\n"
        f"{statement}\n"
        "import scipy.special\n"
        "assert it is sys.modules['scipy.special._basic'] and scipy.special is not modules[0]\n"
        "assert it.comb(4, 2, exact=True) == comb(4, 2, exact=True) == 6\n"
        "print('done')"
    )
    done = run(code)
    assert done.stdout == "done\n", done.stderr


def test_collections_are_paused_for_those_who_have_some():
    assert gc.isenabled()
    with paused_collection():
        with paused_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with contextlib.suppress(KeyError), paused_collection():
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    try:
        with paused_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


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
