"""Models of every class that a file may hold, and files made wrong on purpose."""

import contextlib
import json
import sys
import threading
import warnings
import zlib

import numpy as np
import scipy.sparse as sp
import sklearn.decomposition
import sklearn.feature_extraction
import sklearn.feature_extraction.text
import sklearn.feature_selection
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.preprocessing
import sklearn.svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union

import fastlin
from fastlin import select
from fastlin.sequence import CRF, MEMM, StructuredPerceptron
from fastlin.storage import zip_layout

rng = np.random.default_rng(0)
X = rng.poisson(0.6, (90, 12)).astype(float)
CODES = rng.integers(0, 4, 90)
TEXTS = [f"a good dog, no {'bad' if i % 3 else 'fine'} cat number {i % 7} of {i % 11} Straße" for i in range(40)]
ANSWERS = ["bad" if i % 3 else "good" for i in range(40)]
SENTENCES = [[["the"], ["dog", "new"], {"w": "ran", "length": 3}], [["a"], ["cat"]], []] * 5
TAGS = [["D", "N", "V"], ["D", "N"], []] * 5
DICTS = [{"word": f"w{i % 5}", "length": i, "flag": True} for i in range(20)]
LABELS = {
    "integers": CODES - 1,
    "two": CODES % 2,
    "booleans": CODES > 1,
    "strings": np.array(["a", "b", "ß", "\U0001f600"])[CODES],
    "objects": np.array(["a", "b", "ß", "longer"], object)[CODES],
    "bytes": np.array([b"a", b"b", b"c", b"d"])[CODES],
    "floats": CODES.astype(float),
}

FEW = {"max_iter": 3, "tol": None, "random_state": 0}
ONLINE = {
    "perceptron": fastlin.Perceptron(**FEW),
    "averaged": fastlin.Perceptron(average=True, **FEW),
    "pa": fastlin.PassiveAggressiveClassifier(**FEW),
    "mira": fastlin.MIRAClassifier(**FEW),
    "arow": fastlin.AROWClassifier(**FEW),
    "log": fastlin.SGDClassifier(loss="log_loss", **FEW),
    "averaged sgd": fastlin.SGDClassifier(average=True, alpha=0.01, **FEW),
    "l1": fastlin.SGDClassifier(penalty="l1", alpha=0.01, **FEW),
    "adagrad": fastlin.SGDClassifier(learning_rate="adagrad", penalty="elasticnet", dtype="float32", **FEW),
    "ftrl": fastlin.SGDClassifier(learning_rate="ftrl", penalty="l1", alpha=0.01, **FEW),
    "growing": fastlin.SGDClassifier(grow_features=True, learning_rate="adagrad", **FEW),
    "pegasos": fastlin.SGDClassifier(learning_rate="pegasos", class_weight={0: 2.0}, **FEW),
}
BATCH = {
    "logistic": fastlin.LogisticRegression(max_iter=30, tol=1e-2),
    "observed": fastlin.LogisticRegression(max_iter=30, tol=1e-2, weights="observed", prior_mean=0.5),
    "float32": fastlin.LogisticRegression(max_iter=30, tol=1e-2, dtype="float32", prior_variance=np.arange(1.0, 13)),
    "cv": fastlin.LogisticRegressionCV(Cs=[0.1, 1], cv=2, tol=1e-2),
    "svm": fastlin.LinearSVC(max_iter=5, random_state=0),
    "svm, warm": fastlin.LinearSVC(max_iter=5, random_state=0, warm_start=True, multi_class="crammer_singer"),
}
COUNTED = {
    "bayes": fastlin.MultinomialNB(),
    "bayes, prior": fastlin.MultinomialNB(alpha=np.arange(12.0)),
    "complement": fastlin.ComplementNB(norm=True, alpha=0.1),
    "bernoulli": fastlin.BernoulliNB(binarize=0.5, alpha=np.arange(1.0, 13)),
    "categories": fastlin.CategoricalNB(),
    "categories, more": fastlin.CategoricalNB(min_categories=9, alpha=0.1),
}
CENTROIDS = {
    "centroids": fastlin.NearestCentroid(priors="empirical", shrink_threshold=0.1),
    "centroids, medians": fastlin.NearestCentroid("manhattan"),
}
TARGETS = X @ rng.normal(size=12)
REGRESSORS = {
    "regression": fastlin.SGDRegressor(**FEW),
    "regression, averaged": fastlin.SGDRegressor("huber", average=True, learning_rate="adagrad", eta0=0.5, **FEW),
    "ridge": fastlin.Ridge(tol=1e-8),
    "ridge, not negative": fastlin.Ridge(alpha=[0.5], positive=True, fit_intercept=False, tol=1e-8),
    "svr": fastlin.LinearSVR(epsilon=0.1, max_iter=5, random_state=0),
    "svr, warm": fastlin.LinearSVR(loss="squared_epsilon_insensitive", warm_start=True, random_state=0),
}
LEARNERS = ONLINE | BATCH | COUNTED | CENTROIDS
SEMI_SUPERVISED = {
    "semi": fastlin.SemiSupervisedNB(),
    "semi, components": fastlin.SemiSupervisedNB(
        components=2, unlabeled_weight=0.5, alpha=np.arange(1.0, 13), random_state=0
    ),
    "semi, cv": fastlin.SemiSupervisedNBCV(
        unlabeled_weights=[0.1, 1.0], components=[1, 2], alphas=[0.3], cv=2, random_state=0
    ),
}
INDICATOR = sp.csr_array((CODES[:, None] >> np.arange(2)) & 1)  # of two labels, of which a row may have both
SEVERAL = {
    "several labels": fastlin.LogisticRegression(max_iter=30, tol=1e-2),
    "several labels, svm": fastlin.LinearSVC(max_iter=5, random_state=0, warm_start=True, class_weight="balanced"),
    "several labels, sgd": fastlin.SGDClassifier(average=True, alpha=0.01, class_weight={1: 2.0}, **FEW),
    "several labels, perceptron": fastlin.Perceptron(**FEW),
    "several labels, pa": fastlin.PassiveAggressiveClassifier(**FEW),
    "several labels, bayes": fastlin.MultinomialNB(class_prior=[0.8, 0.2]),
    "several labels, complement": fastlin.ComplementNB(norm=True),
    "several labels, bernoulli": fastlin.BernoulliNB(alpha=0.1),
}
SOME = np.where(np.arange(90) % 3 > 0, -1, CODES)  # labels of a third of the rows
CLUSTERS = {
    "mixture": fastlin.MultinomialMixture(3, random_state=0),
    "mixture, prior": fastlin.MultinomialMixture(2, alpha=np.arange(1.0, 13), init=X[:2]),
    "k-means": fastlin.KMeans(3, random_state=0),
    "k-means, batches": fastlin.MiniBatchKMeans(3, batch_size=16, random_state=0),
    "k-means, soft": fastlin.KMeans(3, metric="spherical", temperature=0.1, init=X[:3]),
}

TAGGERS = [
    CRF(edges="all"),
    CRF(order=2, weights="dense"),
    MEMM(edges="all", tag_dictionary="w:"),
    MEMM(order=2, tag_dictionary={"dog": "N"}),
    StructuredPerceptron(random_state=0),
    StructuredPerceptron(order=2, loss="mira", random_state=0),
    StructuredPerceptron(weights="observed", random_state=0),
]

VECTORISERS = {
    "count": fastlin.CountVectorizer(),
    "count, patterns": fastlin.CountVectorizer(token_pattern="[a-z]+x?", stop_words=["no"], dtype=np.int32),
    "count, given": fastlin.CountVectorizer(vocabulary=["dog", "cat", "not there", "good dog"], ngram_range=(1, 2)),
    "count, many": fastlin.CountVectorizer(min_df=2, max_features=9, negation=True, prefixes=(2, 3), binary=True),
    "tfidf": fastlin.TfidfVectorizer(ngram_range=(1, 3), stop_words="english", sublinear_tf=True),
    "tfidf, characters": fastlin.TfidfVectorizer(analyzer="char", ngram_range=(1, 3), strip_accents="unicode"),
    "tfidf, given": fastlin.TfidfVectorizer(vocabulary={"dog": 1, "cat": 0}, dtype=np.float32, norm=None),
    "hashing": fastlin.HashingVectorizer(n_features=64),
    "hashing, names": fastlin.HashingVectorizer(n_features=64, keep_names=20, ngram_range=(1, 2)),
    "documents": fastlin.DocumentFeatures(["words", "capitals"]),
    "union": make_union(fastlin.CountVectorizer(), fastlin.DocumentFeatures()),
    "sk count": sklearn.feature_extraction.text.CountVectorizer(),
    "sk hashing": sklearn.feature_extraction.text.HashingVectorizer(n_features=64),
    "sk tfidf": sklearn.feature_extraction.text.TfidfVectorizer(),
}
TRANSFORMERS = {
    "conjunctions": fastlin.Conjunctions(include_original=True),
    "triples": fastlin.Conjunctions(degree=3, interaction_only=False, min_df=2),
    "groups": fastlin.Conjunctions(groups=[[0, 1, 2], [3, 4, 5]]),
    "hashed": fastlin.Conjunctions(n_features=64, groups=[[0, 1], [2, 3]]),
    "elementwise": fastlin.Elementwise(("identity", "log")),
    "ratio": fastlin.LogCountRatio(),
    "tf-idf": fastlin.TfidfTransformer(),
    "tf": fastlin.TfidfTransformer(use_idf=False, norm="l1"),
    "cutoff": select.CountCutoff(min_rows=40),
    "features": select.SelectFeatures(n_features=4, step=2, tol=1e-3),
    "by count": select.SelectFeatures(n_features=4, method="chi2", tol=1e-3),
    "normaliser": sklearn.preprocessing.Normalizer(),
    "max": sklearn.preprocessing.MaxAbsScaler(),
    "standard": sklearn.preprocessing.StandardScaler(),
    "binary": sklearn.preprocessing.Binarizer(threshold=0.5),
    "best": sklearn.feature_selection.SelectKBest(sklearn.feature_selection.chi2, k=3),
    "our best": sklearn.feature_selection.SelectKBest(select.chi2, k=3),
    "percentile": sklearn.feature_selection.SelectPercentile(percentile=50),
    "variance": sklearn.feature_selection.VarianceThreshold(0.1),
    "svd": sklearn.decomposition.TruncatedSVD(3, random_state=0),
    "sk tf-idf": sklearn.feature_extraction.text.TfidfTransformer(),
    "pipeline": make_pipeline(sklearn.preprocessing.MaxAbsScaler(), "passthrough", fastlin.Elementwise()),
}
OF_DICTS = {
    "dicts": fastlin.DictVectorizer(),
    "unsorted": fastlin.DictVectorizer(sort=False, dtype=np.float32),
    "hasher": fastlin.FeatureHasher(n_features=32),
    "vw": fastlin.interchange.VWHasher(32, hash_seed=3),
    "sk dicts": sklearn.feature_extraction.DictVectorizer(),
    "sk hasher": sklearn.feature_extraction.FeatureHasher(n_features=32),
}
SK_FEW = {"max_iter": 5, "tol": None, "random_state": 0}
SK_LEARNERS = {
    "sk logistic": sklearn.linear_model.LogisticRegression(C=0.5),
    "sk logistic, cv": sklearn.linear_model.LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, scoring="accuracy"),
    "sk perceptron": sklearn.linear_model.Perceptron(**SK_FEW),
    "sk ridge": sklearn.linear_model.RidgeClassifier(class_weight="balanced"),
    "sk sgd": sklearn.linear_model.SGDClassifier(loss="log_loss", **SK_FEW),
    "sk svm": sklearn.svm.LinearSVC(random_state=0),
    "sk svm, no intercept": sklearn.svm.LinearSVC(fit_intercept=False, multi_class="crammer_singer", random_state=0),
    "sk bayes": sklearn.naive_bayes.MultinomialNB(alpha=0.5),
    "sk bernoulli": sklearn.naive_bayes.BernoulliNB(binarize=0.5),
    "sk complement": sklearn.naive_bayes.ComplementNB(norm=True),
}
SK_AVERAGED = {  # which do not go on
    "sk sgd, averaged": sklearn.linear_model.SGDClassifier(average=True, penalty="elasticnet", **SK_FEW),
}
SK_REGRESSORS = {
    "sk regression": sklearn.linear_model.Ridge(alpha=2.0),
    "sk regression, sgd": sklearn.linear_model.SGDRegressor(**SK_FEW),
    "sk regression, svm": sklearn.svm.LinearSVR(random_state=0),
}
SK_ENSEMBLES = {
    "rest": OneVsRestClassifier(fastlin.SGDClassifier(**FEW)),
    "rest, sk": OneVsRestClassifier(sklearn.svm.LinearSVC(random_state=0)),
    "calibrated": CalibratedClassifierCV(fastlin.LinearSVC(max_iter=5, random_state=0), cv=2),
    "calibrated, isotonic": CalibratedClassifierCV(sklearn.naive_bayes.MultinomialNB(), method="isotonic", cv=2),
    "votes": VotingClassifier(
        [("ours", fastlin.Perceptron(**FEW)), ("none", "drop"), ("theirs", sklearn.svm.LinearSVC(random_state=0))],
        weights=[2.0, 0.5, 1.0],
    ),
    "votes, soft": VotingClassifier(
        [
            ("ours", fastlin.MultinomialNB()),
            ("theirs", make_pipeline(sklearn.preprocessing.MaxAbsScaler(), sklearn.linear_model.LogisticRegression())),
        ],
        voting="soft",
    ),
}
COLUMNS = {
    "columns": ColumnTransformer(
        [
            ("scaled", sklearn.preprocessing.StandardScaler(), [0, 1]),
            ("kept", "passthrough", slice(2, 4)),
            ("gone", "drop", [4]),
            ("nothing", sklearn.preprocessing.Normalizer(), []),
            ("weighed", fastlin.TfidfTransformer(), np.arange(5, 8)),
        ],
        remainder=sklearn.preprocessing.MaxAbsScaler(),
        sparse_threshold=0,
    ),
    "columns, the rest kept": ColumnTransformer(
        [("weighed", fastlin.TfidfTransformer(), [0, 3])], remainder="passthrough", transformer_weights={"weighed": 2.0}
    ),
}
TEMPERATURE = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)  # scikit-learn has this calibration


def fitted(model, *data):
    model = sklearn.base.clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@contextlib.contextmanager
def beside(work):
    """Run `work` in another thread, with as many changes of threads as there may be."""
    stop, errors, before = threading.Event(), [], sys.getswitchinterval()

    def run():
        try:
            while not stop.is_set():
                work()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(before)
        if errors:
            raise errors[0]


def of_texts():
    """A small model of texts with all that one usually has."""
    steps = fastlin.TfidfVectorizer(ngram_range=(1, 2)), fastlin.SGDClassifier(average=True, **FEW)
    return fitted(make_pipeline(*steps), TEXTS, ANSWERS)


def forge(path, whole, contents):
    """A file with any JSON and any contents of members, everything else as it must be."""
    members, parts = [], []

    def add(name, content):
        member = zip_layout.Member(name, members[-1].stop if members else 0, len(content), zlib.crc32(content))
        members.append(member)
        parts.append(zip_layout.local_header(member) + content)

    for name, content in contents.items():
        add(f"{name}.npy", content)
    add("model.json", whole if isinstance(whole, bytes) else json.dumps(whole, separators=(",", ":")).encode())
    path.write_bytes(b"".join(parts) + zip_layout.ending(members))
