"""Print a checksum of every fitted attribute and answer of every estimator and its main options.

    PYTHONPATH=src:tests python tests/support/fitted_checksums.py > before
    ... rebuild ...
    PYTHONPATH=src:tests python tests/support/fitted_checksums.py > after
    diff before after

Two outputs are equal where all bits are. They depend on the processor's instruction set (`FASTLIN_ISA`) and the
versions of NumPy and SciPy: compare runs of one machine. An option that is refused has the words of its refusal.
"""

import itertools
import numbers
import sys
import warnings
import zlib

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import fastlin
from fastlin import channel, lm, select, sequence
from fastlin.grammar import PCFG, SpanCRF, Tree
from fastlin.text import templates
from support.golden_files import TREES, asked_of
from support.model_files import ANSWERS, DICTS, SENTENCES, TAGS, TEXTS

TIMES = {"seconds", "time", "duration"}  # entries of histories that no two runs share

rng = np.random.default_rng(20)
ROWS = sp.csr_array(np.round(rng.gamma(0.4, size=(150, 30)) * (rng.random((150, 30)) < 0.4), 3))
COUNTS = sp.csr_array(rng.poisson(0.4, (150, 30)).astype(float))
THREE, TWO = np.arange(150) * 7 % 11 % 3, np.arange(150) % 5 % 2
INDICATOR = (COUNTS @ np.sin(np.arange(330.0)).reshape(30, 11) > 0).astype(int)
TARGETS = np.sin(np.arange(150.0)) + THREE
SOME = np.where(np.arange(150) % 3 > 0, -1, THREE)
GROUPS, GOLD = [3] * 50, np.arange(50) % 3
WORDS = [["the", "dog", "ran", "a", "cat", "in"][: n % 6 + 1] for n in range(12)]
WORD_TAGS = [["D", "N", "V", "D", "N", "P"][: n % 6 + 1] for n in range(12)]
SPELLED = [("dog", "dgo"), ("cat", "kat"), ("the", "teh"), ("ran", "rann"), ("in", "n")]
EPOCHS = {"max_iter": 4, "tol": None, "random_state": 3}
ITERATIONS = {"max_iter": 25, "tol": 1e-6}
ANSWER_METHODS = (
    "decision_function", "predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "transform",
    "score_samples", "predict_marginals", "get_feature_names_out",
)  # fmt: skip


def grid(**options):
    """Every combination of the options."""
    return [dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())]


def online():
    rates = ("optimal", "constant", "invscaling", "adaptive", "inverse", "pegasos", "adagrad", "ftrl")
    options = grid(
        loss=("hinge", "log_loss", "squared_hinge", "perceptron"), penalty=("l2", "l1", "elasticnet", None),
        learning_rate=rates, average=(False, True),
    )  # fmt: skip
    options += grid(learning_rate=("constant", "adagrad", "ftrl"), batch_size=(4, 1000), average=(False, 5))
    options += grid(sampling=("shuffle", "replace", "order"), dtype=("float32", "float64"))
    options += grid(learning_rate=("pegasos",), project=(True,), average=(False, True))
    options += grid(class_weight=("balanced", {0: 2.0}), fit_intercept=(False, True), grow_features=(False, True))
    options += grid(early_stopping=(True,), loss=("hinge", "log_loss"), learning_rate=("optimal", "adaptive"))
    for option in options:
        yield fastlin.SGDClassifier(**{"eta0": 0.05, "alpha": 1e-3, **EPOCHS, **option}), ROWS
    common = grid(average=(False, True), dtype=("float32", "float64"), fit_intercept=(False, True))
    for option in common + grid(class_weight=("balanced",), shuffle=(False,)) + grid(early_stopping=(True,)):
        for penalty in (None, "l2", "l1", "elasticnet"):
            yield fastlin.Perceptron(penalty=penalty, **{**EPOCHS, **option}), ROWS
        for loss, C in itertools.product(("hinge", "squared_hinge"), (0.1, 1.0, np.inf)):
            yield fastlin.PassiveAggressiveClassifier(loss=loss, C=C, **{**EPOCHS, **option}), ROWS
        for C in (0.1, 1.0):
            yield fastlin.MIRAClassifier(C=C, **{**EPOCHS, **option}), ROWS
        for multi_class in ("multinomial", "ovr"):
            yield fastlin.AROWClassifier(multi_class=multi_class, **{**EPOCHS, **option}), ROWS


def regression():
    losses = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
    options = grid(loss=losses, penalty=("l2", "l1", "elasticnet", None), learning_rate=("invscaling", "adagrad"))
    options += grid(learning_rate=("pa1", "pa2"), loss=("epsilon_insensitive",), average=(False, True))
    options += grid(early_stopping=(True,), dtype=("float32", "float64"), batch_size=(1, 4))
    for option in options:
        yield fastlin.SGDRegressor(**{"eta0": 0.05, "alpha": 1e-3, **EPOCHS, **option}), ROWS
    for option in grid(solver=("auto", "sparse_cg", "svd"), alpha=(0.0, 0.1, 10.0), fit_intercept=(True, False)):
        yield fastlin.Ridge(tol=1e-8, **option), ROWS
    yield fastlin.Ridge(positive=True, tol=1e-8), ROWS
    for option in grid(loss=("epsilon_insensitive", "squared_epsilon_insensitive"), C=(0.1, 10.0), dual=(True, False)):
        yield fastlin.LinearSVR(epsilon=0.1, random_state=3, **{**ITERATIONS, **option}), ROWS


def batch():
    solvers = ("auto", "gd", "cg", "newton", "lbfgs", "gis", "iis", "sgd", "adagrad", "saga")
    options = grid(solver=solvers, C=(0.1, 10.0), penalty=("l2", "l1", None))
    options += grid(solver=("auto", "newton", "lbfgs"), C=(0.1, 10.0), l1_ratio=(0.3, 1.0))
    options += grid(solver=("newton", "lbfgs"), weights=("observed",), cutoff=(1, 2), dtype=("float32", "float64"))
    options += grid(
        prior_mean=(0.3,), prior_variance=(0.5, np.linspace(0.1, 2, 30)), solver=("newton", "lbfgs", "auto")
    )
    options += grid(class_weight=("balanced",), fit_intercept=(False, True), intercept_scaling=(2.0,))
    options += grid(multi_class=("ovr",), solver=("auto", "newton", "lbfgs"), class_weight=(None, "balanced"))
    for option in options:
        yield fastlin.LogisticRegression(random_state=3, **{**ITERATIONS, **option}), COUNTS
    for option in grid(penalty=("l1",), weights=("sparse",), C=(0.1, 10.0), fit_intercept=(False, True)):
        yield fastlin.LogisticRegression(**{**ITERATIONS, **option}), COUNTS
    for solver, weights in itertools.product(("auto", "lbfgs"), ("dense", "observed")):
        yield fastlin.LogisticRegressionCV(Cs=3, cv=3, solver=solver, weights=weights, **ITERATIONS), COUNTS
    for option in grid(
        loss=("squared_hinge", "hinge"), multi_class=("ovr", "crammer_singer"), C=(0.1, 10.0),
        fit_intercept=(False, True), class_weight=(None, "balanced"),
    ):  # fmt: skip
        yield fastlin.LinearSVC(random_state=3, **{**ITERATIONS, **option}), ROWS
    for option in grid(penalty=("l1",), C=(0.1, 10.0), fit_intercept=(False, True), class_weight=(None, "balanced")):
        yield fastlin.LinearSVC(**{**ITERATIONS, **option}), ROWS


def several():
    for option in grid(solver=("auto", "newton", "lbfgs"), C=(0.1, 10.0), class_weight=(None, "balanced")):
        yield fastlin.LogisticRegression(random_state=3, **{**ITERATIONS, **option}), COUNTS
    for option in grid(loss=("squared_hinge", "hinge"), dual=(True, "auto"), class_weight=(None, {1: 2.0})):
        yield fastlin.LinearSVC(random_state=3, **{**ITERATIONS, **option}), ROWS
    for option in grid(loss=("hinge", "log_loss"), average=(False, True), class_weight=(None, "balanced")):
        yield fastlin.SGDClassifier(**{"alpha": 1e-3, **EPOCHS, **option}), ROWS
    for cls in (fastlin.Perceptron, fastlin.PassiveAggressiveClassifier):
        yield cls(**EPOCHS), ROWS
    for cls, alpha in itertools.product((fastlin.MultinomialNB, fastlin.ComplementNB, fastlin.BernoulliNB), (0.0, 1.0)):
        yield cls(alpha=alpha), COUNTS


def counted():
    for option in grid(alpha=(1.0, 0.1, np.linspace(0.1, 1, 30)), fit_prior=(True, False)):
        yield fastlin.MultinomialNB(**option), COUNTS
    yield fastlin.MultinomialNB(class_prior=[0.2, 0.3, 0.5]), COUNTS
    yield fastlin.MultinomialNB(base_measure=np.full(30, 1 / 30), concentration=2.0), COUNTS
    for option in grid(alpha=(1.0, 0.0), norm=(False, True)):
        yield fastlin.ComplementNB(**option), COUNTS
    for option in grid(alpha=(1.0, 0.0), binarize=(0.0, 1.5)):
        yield fastlin.BernoulliNB(**option), COUNTS
    for option in grid(alpha=(1.0, 0.1), fit_prior=(True, False), min_categories=(None, 12)):
        yield fastlin.CategoricalNB(**option), COUNTS.toarray().astype(int)
    for option in grid(alpha=(0.1, 1.0), binary=(True, False)):
        yield fastlin.LogCountRatio(**option), COUNTS


def centroids():
    options = {"metric": ("euclidean", "manhattan"), "priors": ("uniform", "empirical")}
    for option in grid(shrink_threshold=(None, 0.5), **options):
        yield fastlin.NearestCentroid(**option), ROWS


def transformers():
    for option in grid(degree=(2, 3), interaction_only=(True, False), include_original=(True,), min_df=(1, 3)):
        yield fastlin.Conjunctions(**option), COUNTS
    yield from ((fastlin.Conjunctions(n_features=64, groups=[[0, 1], [2, 3]]), COUNTS), (fastlin.Elementwise(), ROWS))
    for option in grid(norm=("l1", "l2", None), use_idf=(True, False), smooth_idf=(True, False), sublinear_tf=(True,)):
        yield fastlin.TfidfTransformer(**option), COUNTS
    yield select.CountCutoff(min_rows=40, min_count=2.0), COUNTS
    for method in ("greedy", "information_gain", "chi2", "count"):
        yield select.SelectFeatures(n_features=6, method=method, step=2, tol=1e-6), COUNTS


def clusters():
    starts = (("k-means++", "random"), ("kmeans", "k-means++", "random"))
    for option in grid(init=starts[0], metric=("euclidean", "spherical"), temperature=(None, 0.2)):
        yield fastlin.KMeans(3, random_state=3, **option), ROWS
    for option in grid(init=starts[0], batch_size=(16, 1024), tol=(0.0, 1e-3)):
        yield fastlin.MiniBatchKMeans(3, random_state=3, **option), ROWS
    for option in grid(init=starts[1], alpha=(1.0, 0.1), n_init=(1, 3)):
        yield fastlin.MultinomialMixture(3, random_state=3, max_iter=20, **option), COUNTS


def partly_labelled():
    for option in grid(alpha=(1.0, 0.1), unlabeled_weight=(0.0, 0.5, 1.0), components=(1, 2), fit_prior=(True, False)):
        yield fastlin.SemiSupervisedNB(random_state=3, max_iter=20, **option), COUNTS
    yield fastlin.SemiSupervisedNBCV(cv=3, random_state=3, max_iter=10), COUNTS


def vectorisers():
    words = grid(ngram_range=((1, 1), (1, 3)), lowercase=(True, False), strip_accents=(None, "unicode"))
    words += grid(analyzer=("char", "char_wb"), ngram_range=((2, 4),))
    words += grid(token_pattern=("[a-z]+x?", r"\S+"), stop_words=(["no"],))
    words += [{"stop_words": "english"}, {"negation": True}, {"prefixes": (2, 3), "suffixes": 2}, {"binary": True}]
    for option in words:
        yield fastlin.CountVectorizer(**option), TEXTS
        yield fastlin.TfidfVectorizer(**option), TEXTS
        yield fastlin.HashingVectorizer(n_features=64, **option), TEXTS
    for option in ({"min_df": 2}, {"max_df": 0.5}, {"max_features": 5}, {"vocabulary": ["dog", "cat"]}):
        yield fastlin.CountVectorizer(**option), TEXTS
    for option in grid(norm=("l1", None), sublinear_tf=(True, False), use_idf=(True, False), dtype=(np.float32,)):
        yield fastlin.TfidfVectorizer(**option), TEXTS
    yield fastlin.DocumentFeatures(), TEXTS
    for option in grid(sparse=(True, False), sort=(True, False)):
        yield fastlin.DictVectorizer(**option), DICTS
    yield fastlin.FeatureHasher(n_features=32), DICTS
    yield fastlin.interchange.VWHasher(32), DICTS


def taggers():
    short = {"max_iter": 20, "tol": 1e-6}
    for option in grid(solver=("lbfgs", "sgd", "adagrad"), order=(1, 2), weights=("dense", "observed"), c1=(0.0, 0.1)):
        yield sequence.CRF(random_state=3, **short, **option)
    for option in grid(edges=("all", "w:"), constraints=(None, [("D", "N"), ("N", "V")])):
        yield sequence.CRF(**short, **option)
    for option in grid(order=(1, 2), decoder=("viterbi", "beam", "greedy"), tag_dictionary=(None, "w:"), C=(0.1, 1.0)):
        yield sequence.MEMM(**short, **option)
    for option in grid(order=(1, 2), loss=("perceptron", "pa", "mira"), average=(True, False), shuffle=(True, False)):
        yield sequence.StructuredPerceptron(random_state=3, max_iter=4, **option)


def hidden():
    for option in grid(
        order=(1, 2), interpolation=("auto", "deleted", None), unknown=("suffix", "shape", "uniform"),
        stop=(True, False), alpha=(None, 0.5),
    ):  # fmt: skip
        yield sequence.HMM(**option)


def language_models():
    for option in grid(order=(1, 2, 3), cutoff=(1, 2), prior_variance=(None, 1.0)):
        yield lm.MaxentLM(**option)
    for option in grid(order=(2, 3), classes=(4, 6)):
        yield lm.MaxentLM(**option)
    for option in grid(order=(2, 3), skip_grams=(1, 2)):
        yield lm.MaxentLM(**option)
    for option in grid(solver=("newton", "cg", "gd", "sgd", "adagrad"), classes=(None, 4)):
        yield lm.MaxentLM(order=2, random_state=3, max_iter=5, **option)
    for option in grid(n_classes=(1, 3), alpha=(0.0, 0.1), n_init=(1, 3)):
        yield lm.ClassBigramModel(random_state=3, **option)
    yield lm.WordClasses(6)
    yield lm.Interpolation([lm.NgramModel(2), lm.Cache(5)], [0.5, 0.5])


def channels():
    table = {"good": {"fine": 0.25, "good": 0.5}, "bad": {"awful": 0.5}}
    yield channel.NoisyChannel(lm.NgramModel(2), table, keep_unknown=True)
    for option in grid(order=(1, 3), max_edits=(1, 2), min_count=(1, 2)):
        yield channel.SpellingCorrector(smoothing="witten_bell", **option)


def grammars():
    for option in grid(horizontal=(None, 0, 1), vertical=(1, 2), split_tags=(True, False)):
        yield PCFG(**option)
    for option in grid(unknown=(None, "signature", "suffix", "shape"), rare_count=(0, 1), alpha=(0.0, 0.5)):
        yield PCFG(decoding="viterbi", **option)
    for option in grid(solver=("adagrad", "lbfgs", "perceptron"), vertical=(1, 2)):
        yield SpanCRF(min_count=1, max_iter=3, random_state=0, **option)


PAIRS = list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))


def lexical_channels():
    for option in ({}, {"model": 2}, {"model": 2, "alignment": "diagonal", "alpha": 0.0}, {"null": False}):
        yield channel.LexicalChannel(**option)


def cases():
    """(name, estimator, what is fitted)."""
    for make in (online, batch, counted, centroids, transformers):
        for model, X in make():
            for labels, y in (("three", THREE), ("two", TWO)):
                yield f"{described(model)} {labels}", model, (X, y)
    for model, X in several():
        yield f"{described(model)} several", model, (X, INDICATOR)
    for model, X in regression():
        yield described(model), model, (X, TARGETS)
    for model, X in clusters():
        yield described(model), model, (X,)
    for model, X in partly_labelled():
        yield described(model), model, (X, SOME)
    for model, X in vectorisers():
        yield described(model), model, (X,)
    for model in taggers():
        yield described(model), model, (SENTENCES, TAGS)
    for model in hidden():
        yield described(model), model, (WORDS, WORD_TAGS)
    yield "HMM by EM", sequence.HMM(n_components=3, random_state=3, max_iter=10), (WORDS,)
    for option in grid(loss=("log_loss", "perceptron", "hinge", "pa"), average=(False, True), C=(0.1, 1.0)):
        model = fastlin.CandidateClassifier(random_state=3, **{**ITERATIONS, **option})
        yield described(model), model, (COUNTS, GOLD, GROUPS)
    lexicon = {"good": ["fine", "good"], "bad": {"bad": 2.0}}
    model = fastlin.LexiconClassifier(lexicon, vectorizer=fastlin.CountVectorizer())
    yield "LexiconClassifier", model, (TEXTS, ANSWERS)
    for option in grid(
        order=(1, 3), interpolate=(True, False), cutoff=(1, 2),
        smoothing=(
            "modified_kneser_ney", "kneser_ney", "absolute_discounting", "witten_bell", "katz", "dirichlet", "lidstone",
            "laplace", "relative_frequency",
        ),
    ):  # fmt: skip
        model = lm.NgramModel(**option)
        yield described(model), model, (TEXTS,)
    for model in itertools.chain(language_models(), channels()):
        yield described(model), model, (TEXTS,)
    for model in grammars():
        yield described(model), model, (TREES,)
    for model in lexical_channels():
        yield described(model), model, (PAIRS,)
    for option in grid(alpha=(0.0, 10.0), max_iter=(1, 30)):
        yield described(channel.EditChannel(**option)), channel.EditChannel(**option), (SPELLED,)
    yield "LanguageModelClassifier", lm.LanguageModelClassifier(), (TEXTS, ANSWERS)
    raw = [[(word, "X") for word in words] for words in WORDS]
    for name in ("ner", "ratnaparkhi96", "pos", "chunking"):
        yield f"Templates {name}", getattr(templates, name)(), (raw,)


def described(model):
    """The class and the parameters that are not its defaults."""
    return repr(model).replace("\n", " ").replace("  ", "")


def told(model, data):
    """(name, checksum) of all public attributes that were learnt, and of all answers."""
    names = {name for name in {*vars(model), *dir(type(model))} if name.endswith("_") and not name.startswith("_")}
    for name in sorted(names):
        try:
            yield name, checksum(getattr(model, name))
        except AttributeError:
            continue
    rows = (data[0], data[2]) if len(data) == 3 else (asked_of(data),)
    for name in ANSWER_METHODS:
        if hasattr(model, name):
            try:
                yield name, checksum(getattr(model, name)(*(rows if name != "get_feature_names_out" else ())))
            except (AttributeError, ValueError) as error:
                yield name, f"refused: {error!s:.60}"


def lines(name, estimator, data):
    """What is printed of one case."""
    model = clone(estimator)
    try:
        model.fit(*data)
    except (ValueError, TypeError) as error:
        yield f"{name} | refused: {' '.join(str(error).split())[:80]}"
        return
    for attribute, found in told(model, data):
        yield f"{name} | {attribute} | {found}"
    if hasattr(model, "partial_fit"):
        try:
            model.partial_fit(*data)
        except (ValueError, TypeError) as error:
            yield f"{name} | later | refused: {' '.join(str(error).split())[:80]}"
            return
        for attribute, found in told(model, data):
            yield f"{name} | later | {attribute} | {found}"


def checksum(value):
    return f"{zlib.crc32(canonical(value)):08x}"


def canonical(value):
    """The bits of a value, whatever holds it."""
    if sp.issparse(value):
        matrix = value.tocsr().sorted_indices()
        return canonical(
            [list(matrix.shape), matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data]
        )
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype.str}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, dict):
        entries = [(key, item) for key, item in value.items() if key not in TIMES]
        return b"{" + b",".join(canonical(key) + b":" + canonical(item) for key, item in entries) + b"}"
    if isinstance(value, np.ndarray | list | tuple):
        return b"[" + b",".join(map(canonical, value)) + b"]"
    if isinstance(value, set | frozenset):
        return canonical(sorted(value, key=repr))
    if isinstance(value, Tree):
        return str(value).encode()
    if isinstance(value, BaseEstimator):
        return type(value).__name__.encode() + b"".join(found.encode() for _, found in attributes(value))
    if isinstance(value, numbers.Number | str | bytes | type(None) | np.generic):
        return repr(value).encode()
    return type(value).__name__.encode()


def attributes(model):
    return [
        (name, checksum(value)) for name, value in sorted(vars(model).items()) if name[-1] == "_" and name[0] != "_"
    ]


def main(chosen=""):
    """Print the lines of all cases, or of those whose name holds `chosen`."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name, estimator, data in cases():
        if chosen in name:
            for line in lines(name, estimator, data):
                print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
