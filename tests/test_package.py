"""The package as a whole: what an import costs, which builds there are, what the README promises, who imports whom."""

import ast
import importlib.metadata
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastlin
from fastlin import engine
from support.layers import LAYERS, PACKAGE

BUILDS = engine._usable()
KERNELS = sorted(str(path.relative_to(PACKAGE / "engine"))[:-4] for path in (PACKAGE / "engine").glob("*/*.pyi"))
ENGINE = Path(__file__).parent.parent / "src" / "fastlin" / "engine"  # an installed package has no kernels' sources
MAX_ARGUMENTS = 10
WIDE_KERNELS = {  # kernel: {(class, function): why it takes more}
    "lm/skip_grams": {
        ("HistoryScores", "normalise"): "the scores are bound; the contexts and what is learnt are a call's"
    },
    "text/templates": {("ColumnNumbering", "emit"): "a program, its streams and sequences change with every call"},
    "text/vectorizer": {("DocumentReader", "__cinit__"): "one setting each of how documents are read, not arrays"},
}
ESTIMATORS = [name for name in fastlin.__all__ if hasattr(getattr(fastlin, name), "predict")]
LEARNT = ("classes_", "n_features_in_", "feature_names_in_")
ONLINE = ("coef_", "intercept_", "n_iter_", "history_", "objective_", "converged_", "t_")
SOLVED = ("coef_", "intercept_", "n_iter_", "history_", "objective_", "converged_", "certificate_")
COUNTED = ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_")
CLIMBED = ("bound_", "restart_scores_", "objective_", "history_", "converged_", "n_iter_")
MIXED = ("weights_", "feature_log_prob_", "feature_count_", *CLIMBED)
GROUPED = (*COUNTED, "component_classes_", "component_count_", *CLIMBED)
TUNED = (*GROUPED, "alpha_", "components_", "unlabeled_weight_", "scores_", "path_")
CHOSEN = (*SOLVED, "C_", "l1_ratio_", "Cs_", "l1_ratios_", "scores_", "coefs_paths_", "n_nonzero_", "path_")
CATEGORIES = (
    "class_count_",
    "class_log_prior_",
    "category_count_",
    "feature_log_prob_",
    "n_categories_",
    "categories_",
)
LISTED = ("coef_", "class_prior_", "unknown_words_", "vectorizer_")
COLUMNS = ("n_features_in_", "feature_names_in_")
FITTED = ("n_iter_", "history_", "objective_", "converged_")
TERMS = ("vocabulary_", "fixed_vocabulary_")
UNLABELLED = ("LinearSVR", "MultinomialMixture", "Ridge", "SGDRegressor")
STEPWISE = dict.fromkeys(
    ("AROWClassifier", "MIRAClassifier", "PassiveAggressiveClassifier", "Perceptron", "SGDClassifier", "SGDRegressor"),
    ONLINE,
)
ATTRIBUTES = {
    **STEPWISE,
    "CategoricalNB": CATEGORIES,
    "MultinomialMixture": MIXED,
    "BernoulliNB": COUNTED,
    "ComplementNB": (*COUNTED, "feature_all_"),
    "MultinomialNB": COUNTED,
    "NearestCentroid": ("centroids_", "class_prior_", "deviations_", "within_class_std_dev_"),
    "LogisticRegressionCV": CHOSEN,
    "Ridge": (*SOLVED, "solver_"),
    "LexiconClassifier": LISTED,
    "SemiSupervisedNB": GROUPED,
    "SemiSupervisedNBCV": TUNED,
}
TRANSFORMERS = {  # with all of their attributes: they have no labels
    "Conjunctions": (*COLUMNS, "conjunctions_", "n_output_features_"),
    "CountVectorizer": TERMS,
    "DictVectorizer": ("vocabulary_", "feature_names_"),
    "DocumentFeatures": (),
    "Elementwise": COLUMNS,
    "FeatureHasher": (),
    "HashingVectorizer": ("names_", "collisions_"),
    "KMeans": (*COLUMNS, *FITTED, "cluster_centers_", "labels_", "inertia_"),
    "MiniBatchKMeans": (
        *COLUMNS,
        "cluster_centers_",
        "labels_",
        "inertia_",
        "n_iter_",
        "n_steps_",
        "history_",
        "converged_",
    ),
    "LogCountRatio": (*COLUMNS, "classes_", "log_ratio_"),
    "TfidfTransformer": (*COLUMNS, "idf_"),
    "TfidfVectorizer": (*TERMS, "idf_"),
}
MODELS = """
import sys
import numpy as np
from fastlin import LinearSVC, MIRAClassifier, MultinomialNB, Perceptron, SGDClassifier, engine
rng = np.random.default_rng(0)
X, y = rng.poisson(0.4, size=(200, 40)).astype(float), rng.integers(0, 5, size=200)
options = {"max_iter": 3, "tol": None, "random_state": 0}
found = {"isa": np.array(engine.ISA)}
for model in (
    Perceptron(average=True, **options),
    MIRAClassifier(C=0.1, **options),
    SGDClassifier(loss="log_loss", alpha=0.01, average=True, **options),
    SGDClassifier(loss="log_loss", learning_rate="adagrad", penalty="l1", **options),
):
    found[str(len(found))] = np.column_stack([model.fit(X, y).coef_, model.intercept_])
    found[str(len(found))] = model.decision_function(X)
for way in ("ovr", "crammer_singer"):
    model = LinearSVC(multi_class=way, loss="hinge", C=0.01, tol=0.0, max_iter=2, random_state=0).fit(X, y)
    found[way] = np.column_stack([model.coef_, model.intercept_])
found["naive bayes"] = MultinomialNB().fit(X, y).predict_joint_log_proba(X)
np.savez(sys.argv[1], **found)
"""


def python(code, *arguments, isa=None):
    environment = {name: value for name, value in os.environ.items() if name != "FASTLIN_ISA"}
    environment |= {} if isa is None else {"FASTLIN_ISA": isa}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_importing_the_package_does_not_import_scikit_learn():
    done = python("import sys, fastlin; dir(fastlin); print('sklearn' in sys.modules, 'scipy' in sys.modules)")
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_the_version_is_that_of_the_metadata():
    assert fastlin.__version__ == importlib.metadata.version("fastlin")


def test_the_public_names_are_there():
    for name in fastlin.__all__:
        assert getattr(fastlin, name) is not None
        assert name in dir(fastlin)
    with pytest.raises(AttributeError, match="Perceptrom"):
        fastlin.Perceptrom  # noqa: B018


# --- builds ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """What the same script learns on every build that this machine can run."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for build in BUILDS:
        done = python(MODELS, folder / build, isa=build.replace("_", "-"))
        assert done.returncode == 0, done.stderr
        with np.load(folder / f"{build}.npz") as arrays:
            found[build] = dict(arrays)
    return found


def test_the_best_build_is_chosen_and_there_is_always_a_baseline():
    assert BUILDS[-1] == "baseline"
    done = python("from fastlin import engine; print(engine.ISA)")
    assert done.stdout.strip() == BUILDS[0], done.stderr


@pytest.mark.parametrize("build", BUILDS)
def test_every_build_can_be_forced_and_learns_the_same_model(models, build):
    assert models[build]["isa"] == build
    assert len(models[build]) == 12
    for name, expected in models["baseline"].items():
        if name != "isa":
            np.testing.assert_allclose(models[build][name], expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_package_without_some_builds_takes_the_best_it_has(tmp_path):
    """An older compiler knows no x86-64-v3: its package has the baseline only."""
    missing = shutil.ignore_patterns("x86_64_*")
    shutil.copytree(PACKAGE, tmp_path / "fastlin", ignore=missing)
    done = python(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from fastlin import engine; print(engine.ISA)")
    assert done.stdout.split() == ["baseline"], done.stderr


@pytest.mark.parametrize("isa", ["x86-64-v9", "avx2", "V4"])
def test_an_unknown_build_is_refused_with_a_list_of_those_there_are(isa):
    done = python("from fastlin import Perceptron", isa=isa)
    assert done.returncode != 0
    assert "ImportError: FASTLIN_ISA" in done.stderr
    assert "baseline" in done.stderr


# --- stubs, documents, layers ----------------------------------------------------------------------------------------


def functions_of(node):
    """Of a stub, or of a class in it: {name: parameters}."""
    public = (one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"))
    return {one.name: [argument.arg for argument in one.args.args] for one in public}


def signatures(members):
    """The same of what there is."""
    public = {name: value for name, value in members.items() if not name.startswith("_") and callable(value)}
    return {n: list(inspect.signature(value).parameters) for n, value in public.items() if not inspect.isclass(value)}


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_stubs_say_what_the_kernels_take(kernel):
    folder, name = kernel.split("/")
    module = getattr(importlib.import_module(f"fastlin.engine.{folder}"), name)
    tree = ast.parse((PACKAGE / "engine" / f"{kernel}.pyi").read_text())
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    assert functions_of(tree) == signatures(public)
    classes = {node.name: functions_of(node) for node in tree.body if isinstance(node, ast.ClassDef)}
    assert classes == {name: signatures(vars(value)) for name, value in public.items() if inspect.isclass(value)}
    assigned = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
    names = {node.target.id for node in assigned if ast.unparse(node.annotation) != "TypeAlias"}
    assert names == {name for name, value in public.items() if name.isupper() and isinstance(value, int)}


def written_signatures(path):
    """The names of the arguments of each def of a kernel's source, constructors included: {(class, name): names}."""
    found, owner = {}, ""
    pattern = r"^(?:cdef class (\w+)|( *)c?p?def (?:[\w ]+ )?(\w+)\(((?:[^()]|\([^()]*\))*)\):)"
    for name, indent, function, arguments in re.findall(pattern, path.read_text(), flags=re.MULTILINE):
        owner = name or (owner if indent else "")
        if function:
            bare = re.sub(r"\[[^]]*]|=[^,]*| not None", "", arguments)
            words = [argument.split()[-1] for argument in bare.split(",") if argument.strip()]
            found[owner, function] = words[1:] if owner else words
    return found


@pytest.mark.parametrize("kernel", sorted(str(path.relative_to(ENGINE))[:-4] for path in ENGINE.glob("*/*.pyx")))
def test_a_kernel_takes_at_most_ten_arguments(kernel):
    found = written_signatures(ENGINE / f"{kernel}.pyx")
    wide = {name: len(arguments) for name, arguments in found.items() if len(arguments) > MAX_ARGUMENTS}
    assert set(wide) == set(WIDE_KERNELS.get(kernel, ())), f"bind arrays in a cdef class: {wide}"


@pytest.mark.parametrize("kernel", sorted(str(path.relative_to(ENGINE))[:-4] for path in ENGINE.glob("*/*.pyx")))
def test_the_stubs_say_what_binds(kernel):
    """Constructors of kernels' classes, of which a compiled module says nothing."""
    tree = ast.parse((ENGINE / f"{kernel}.pyi").read_text())
    stubs = {
        node.name: [argument.arg for argument in one.args.args][1:]
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for one in node.body
        if isinstance(one, ast.FunctionDef) and one.name in ("__init__", "__new__")
    }
    found = written_signatures(ENGINE / f"{kernel}.pyx")
    public = {owner: names for (owner, name), names in found.items() if name in ("__cinit__", "__init__")}
    assert stubs == {owner: names for owner, names in public.items() if not owner.startswith("_")}


def test_an_eleventh_argument_is_found(tmp_path):
    source = """
cdef class Bound:
    def __cinit__(self, {}, int last=3):
        pass

def run(const double[:, ::1] W, Bound bound not None, tuple pair=None,
        int64_t[::1] order):
    pass
"""
    (tmp_path / "one.pyx").write_text(source.format(", ".join(f"double[::1] a{i}" for i in range(10))))
    found = written_signatures(tmp_path / "one.pyx")
    assert len(found["Bound", "__cinit__"]) == 11
    assert found["", "run"] == ["W", "bound", "pair", "order"]


def test_every_transformer_is_among_those_whose_docstrings_are_read():
    assert sorted(TRANSFORMERS) == [name for name in fastlin.__all__ if hasattr(getattr(fastlin, name), "transform")]


@pytest.mark.parametrize("name", sorted({*ESTIMATORS, *TRANSFORMERS}))
def test_the_docstrings_describe_every_parameter_and_attribute_and_have_an_example(name):
    estimator = getattr(fastlin, name)
    text = inspect.getdoc(estimator)
    _, *parts = re.split(r"^(Parameters|Attributes|Examples)\n-+\n", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    lines = re.findall(r"^(\S.*?) : ", sections["Parameters"], flags=re.MULTILINE)
    described = [word for line in lines for word in line.split(", ")]
    assert described == list(inspect.signature(estimator).parameters)
    expected = set(TRANSFORMERS[name] if name in TRANSFORMERS else (*LEARNT, *ATTRIBUTES.get(name, SOLVED)))
    if name == "CandidateClassifier":
        expected -= {"classes_", "intercept_"}
    if name in UNLABELLED:
        expected -= {"classes_"}
    if getattr(estimator, "_takes_indicators", False):
        expected |= {"multilabel_"}
    assert set(re.findall(r"^(\w+_) : ", sections.get("Attributes", ""), flags=re.MULTILINE)) == expected
    assert f">>> from fastlin import {estimator.__name__}" in sections["Examples"]


def imported(path):
    """The names that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "fastlin":
                yield from (f"fastlin.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_point_down(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for package, *rest in (name.split(".") for name in imported(path)):
        room = rest[0] if rest and rest[0] in LAYERS else "__init__"  # where fastlin.Perceptron is
        if package == "fastlin" and room != own:
            assert LAYERS.index(room) > LAYERS.index(own), f"{own} imports {room}"


DATASETS = {"Corpus", "CorpusDataset", "InMemoryDataset"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_reader_of_datasets_asks_whether_rows_are_a_corpus(path):
    """Rows in memory and those of a corpus answer the same questions, and estimators ask them."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    asked = [call for call in calls if ast.unparse(call.func) in ("isinstance", "issubclass", "type")]
    found = [call.lineno for call in asked if DATASETS & set(re.findall(r"\w+", ast.unparse(call)))]
    if path.parent.name != "data" and path != PACKAGE / "core" / "dataset.py":
        assert not found, f"ask a Dataset instead of its type, on the lines {found}"
