"""What does each kernel gain from each instruction set?

Every kernel is run by fits and answers that spend their time in it, once for each build, interleaved; `perf` says how
many CPU milliseconds of each run were spent in which kernel's module. From these setup.py's table of what pays was
made. It wants the package built with every kernel for every instruction set, and a quiet core:

    FASTLIN_BUILDS=baseline,x86_64_v3,x86_64_v4 python setup.py -q build_ext --inplace
    python bench/builds.py --repeat 3
    python bench/builds.py --only chain        # or: text, online, solvers, counting, lm, channel, grammar
"""

from __future__ import annotations

from timing import arguments, save, show  # before numpy: it sets the threads

# isort: split
import gzip
import itertools
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

import corpora
import fastlin
from fastlin import channel, data, engine, grammar, lm, select, sequence
from fastlin.text import templates

BUILDS = ("baseline", "x86-64-v3", "x86-64-v4")
HERTZ = 4000  # samples of perf a second
FEWEST = 50  # milliseconds: what a kernel must take for its ratio to be told

Work = Callable[[], object]


def _lines(folder: str, name: str) -> list[str]:
    with gzip.open(corpora.data_folder() / folder / name, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").replace("<unk>", "unk") for line in lines]


def _sentences(n: int) -> tuple[list[list[str]], list[list[str]]]:
    """Words and chunk tags of CoNLL-2000."""
    blocks = "\n".join(_lines("conll2000", "train.tsv.gz")).split("\n\n")[:n]
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    return [[row[0] for row in rows_of] for rows_of in rows], [[row[2] for row in rows_of] for rows_of in rows]


def text() -> Iterator[Work]:
    _, texts = corpora.documents("imdb", "train")
    texts, fewer = texts[:6000], texts[:1500]
    for ngrams in ((1, 1), (1, 2)):
        yield lambda ngrams=ngrams: fastlin.CountVectorizer(ngram_range=ngrams).fit_transform(texts)
    yield lambda: fastlin.HashingVectorizer(n_features=1 << 18).fit_transform(texts)
    yield lambda: fastlin.TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    yield lambda: fastlin.CountVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(fewer)
    yield lambda: fastlin.CountVectorizer(token_pattern="[a-z]+", negation=True).fit_transform(texts)
    yield lambda: fastlin.DocumentFeatures().fit_transform(texts)
    counts = fastlin.CountVectorizer().fit_transform(texts)
    yield lambda: [fastlin.TfidfTransformer().fit_transform(counts) for _ in range(5)]
    rows = counts[:400, :3000]
    yield lambda: fastlin.Conjunctions(degree=2, n_features=1 << 18).fit_transform(rows)
    yield lambda: fastlin.Conjunctions(degree=2, min_df=5).fit_transform(rows)
    words, _ = _sentences(4000)
    for make in (templates.pos, templates.ner):
        yield lambda make=make: make().fit_transform(words)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.svm")
        data.dump_svmlight(counts, np.zeros(counts.shape[0]), path)
        yield lambda: data.load_svmlight(path)


def online() -> Iterator[Work]:
    many, two = corpora.newsgroups(), corpora.imdb()
    epochs = {"max_iter": 3, "tol": None, "random_state": 0}
    for corpus in (many, two):
        X, y = corpus.X[:3000], corpus.y[:3000]
        for options in ({"loss": "log_loss"}, {"loss": "hinge", "average": True}, {"penalty": "l1"},
                        {"learning_rate": "adagrad", "eta0": 0.1}, {"learning_rate": "ftrl", "eta0": 0.1},
                        {"learning_rate": "constant", "eta0": 0.1, "batch_size": 32}):  # fmt: skip
            model = fastlin.SGDClassifier(**options, **epochs)
            yield lambda model=model, X=X, y=y: model.fit(X, y)
        for model in (fastlin.Perceptron(average=True, **epochs), fastlin.PassiveAggressiveClassifier(**epochs),
                      fastlin.MIRAClassifier(**epochs), fastlin.AROWClassifier(**epochs)):  # fmt: skip
            yield lambda model=model, X=X, y=y: model.fit(X, y)
        model = fastlin.Perceptron(**epochs).fit(X, y)
        yield lambda model=model, X=X: [model.predict(X) for _ in range(10)]
    groups, gold = [4] * 2000, np.arange(2000) % 4
    for loss in ("log_loss", "perceptron", "pa"):
        model = fastlin.CandidateClassifier(loss=loss, max_iter=10, tol=0, random_state=0)
        yield lambda model=model: model.fit(many.X[:8000], gold, groups)


def solvers() -> Iterator[Work]:
    many, two = corpora.newsgroups(), corpora.imdb_tfidf()
    letters, openings = corpora.letters(), corpora.openings()
    for corpus, n in ((many, 6000), (two, 8000)):
        X, y = corpus.X[:n], corpus.y[:n]
        for options in ({}, {"solver": "newton", "max_iter": 6}, {"solver": "lbfgs", "max_iter": 15},
                        {"penalty": "l1", "max_iter": 5}, {"solver": "cg", "max_iter": 15}):  # fmt: skip
            model = fastlin.LogisticRegression(C=10, tol=1e-4, random_state=0, **options)
            yield lambda model=model, X=X, y=y: model.fit(X, y)
        for options in ({"loss": "hinge"}, {}, {"multi_class": "crammer_singer"}, {"dual": False},
                        {"penalty": "l1", "dual": False}):  # fmt: skip
            model = fastlin.LinearSVC(max_iter=10, tol=1e-4, random_state=0, **options)
            yield lambda model=model, X=X, y=y: model.fit(X, y)
    for options in ({"solver": "gis"}, {"solver": "iis"}, {"weights": "observed", "solver": "lbfgs"},
                    {"weights": "observed", "solver": "newton", "max_iter": 5}):  # fmt: skip
        model = fastlin.LogisticRegression(**{"max_iter": 20, "tol": 0, **options})
        yield lambda model=model: model.fit(openings.X, openings.y)
    X, y = many.X[:3000], many.y[:3000]
    model = fastlin.LogisticRegression(C=10, penalty="group", tol=1e-3, max_iter=20)
    yield lambda: model.fit(X, y)
    model = fastlin.LogisticRegression(C=10, penalty="l1", weights="sparse", tol=1e-3, max_iter=20)
    yield lambda: model.fit(X, y)
    yield lambda: fastlin.LogisticRegression(C=10).fit(letters.X, letters.y)
    yield lambda: fastlin.Ridge(solver="svd").fit(letters.X, letters.y.astype(float))
    yield lambda: fastlin.Ridge(solver="sparse_cg", tol=1e-8).fit(two.X, two.y.astype(float))
    for dual in (True, False):
        yield lambda dual=dual: fastlin.LinearSVR(dual=dual, epsilon=0.1, max_iter=10).fit(two.X, two.y.astype(float))
    yield lambda: select.SelectFeatures(n_features=10, method="greedy").fit(letters.X, letters.y)


def counting() -> Iterator[Work]:
    many, imdb = corpora.newsgroups(), corpora.imdb()
    counts = sparse.csr_matrix((np.ceil(many.X.data * 20), many.X.indices, many.X.indptr), many.X.shape)[:5000]
    y = many.y[:5000]
    for model in (fastlin.MultinomialNB(), fastlin.BernoulliNB(), fastlin.ComplementNB(), fastlin.NearestCentroid()):
        yield lambda model=model: [model.fit(counts, y) for _ in range(3)]
        yield lambda model=model: [model.predict(counts) for _ in range(6)]
    model = fastlin.NearestCentroid(shrink_threshold=0.5, metric="manhattan")
    yield lambda: model.fit(counts, y).predict(counts[:500])
    for options in ({}, {"metric": "spherical"}, {"temperature": 0.2}):
        model = fastlin.KMeans(20, init="random", max_iter=6, tol=0, random_state=0, **options)
        yield lambda model=model: model.fit(many.X[:5000])
    yield lambda: fastlin.MiniBatchKMeans(20, random_state=0).fit(many.X[:5000])
    yield lambda: fastlin.MultinomialMixture(10, init="random", max_iter=15, tol=0, random_state=0).fit(counts)
    some = np.where(np.arange(len(y)) % 3 > 0, -1, y)
    yield lambda: fastlin.SemiSupervisedNB(max_iter=10, tol=0).fit(counts, some)
    yield lambda: fastlin.LogCountRatio().fit(imdb.X, imdb.y)
    codes = np.random.default_rng(0).integers(0, 30, (40_000, 12))
    yield lambda: fastlin.CategoricalNB().fit(codes, codes[:, 0]).predict(codes)


def chain() -> Iterator[Work]:
    words, tags = _sentences(1500)
    features = templates.pos()
    X = features.strings(words)
    for options in ({"max_iter": 8}, {"solver": "sgd", "max_iter": 3}, {"solver": "adagrad", "max_iter": 3},
                    {"weights": "observed", "max_iter": 8}, {"c1": 0.1, "max_iter": 8}):  # fmt: skip
        model = sequence.CRF(c2=1, tol=0, random_state=0, **options)
        yield lambda model=model: model.fit(X, tags)
    yield lambda: model.predict(X)
    yield lambda: model.predict_marginals(X)
    yield lambda: model.predict_nbest(X[:300], 5)
    yield lambda: [model.predict([x]) for x in X]
    yield lambda: sequence.CRF(order=2, c2=1, tol=0, max_iter=2).fit(X[:200], tags[:200])
    for loss in ("perceptron", "mira"):
        yield lambda loss=loss: sequence.StructuredPerceptron(loss=loss, max_iter=4, random_state=0).fit(X, tags)
    yield lambda: sequence.StructuredPerceptron(order=2, max_iter=1, random_state=0).fit(X[:400], tags[:400])
    for decoder in ("viterbi", "beam"):
        local = sequence.MEMM(max_iter=6, decoder=decoder)
        yield lambda local=local: local.fit(X, tags).predict(X)
    yield lambda: sequence.HMM().fit(words, tags).predict(words)
    yield lambda: sequence.HMM(order=2).fit(words, tags).predict(words)
    yield lambda: sequence.HMM(n_components=20, random_state=0, max_iter=6).fit(words)


def language() -> Iterator[Work]:
    train, test = _lines("ptb_lm", "train.txt.gz")[:20_000], _lines("ptb_lm", "test.txt.gz")
    model = lm.NgramModel(5).fit(train)
    yield lambda: lm.NgramModel(5).fit(train)
    yield lambda: lm.NgramModel(3, smoothing="katz").fit(train)
    yield lambda: [model.score_samples(test) for _ in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.arpa")
        yield lambda: model.to_arpa(path)
        yield lambda: lm.NgramModel.from_arpa(path)
    yield lambda: lm.MaxentLM(order=2, classes=60, max_iter=2).fit(train[:4000])
    yield lambda: lm.MaxentLM(order=2, max_iter=2).fit(train[:2000])
    yield lambda: lm.MaxentLM(order=2, skip_grams=2, max_iter=1).fit(train[:2000])
    yield lambda: lm.WordClasses(40, max_iter=2).fit(train[:8000])
    yield lambda: lm.ClassBigramModel(20, random_state=0, max_iter=3).fit(train[:2000])
    mixed = lm.Interpolation([model, lm.Cache(200)], [0.9, 0.1]).fit(train[:2000])
    yield lambda: mixed.score_samples(test)


def channels() -> Iterator[Work]:
    pairs = [tuple(line.split("\t")[:2]) for line in _lines("spelling", "pairs.tsv.gz")][:8000]
    yield lambda: channel.EditChannel(max_iter=4).fit(pairs)
    texts = _lines("ptb_lm", "train.txt.gz")[:8000]
    corrector = channel.SpellingCorrector(order=3, max_edits=2, smoothing="witten_bell").fit(texts)
    yield lambda: channel.SpellingCorrector(order=3, max_edits=2, smoothing="witten_bell").fit(texts)
    wrong = [" ".join(word[1:] if len(word) > 4 else word for word in line.split()) for line in texts[:150]]
    yield lambda: corrector.predict(wrong)
    sentences = [(a.split(), b.split()) for a, b in itertools.pairwise(texts)]
    for options in ({}, {"model": 2}):
        yield lambda options=options: channel.LexicalChannel(max_iter=3, tol=0.0, **options).fit(sentences)


def grammars() -> Iterator[Work]:
    trees = list(grammar.read_trees(corpora.data_folder() / "treebank" / "trees.mrg.gz"))[:2500]
    model = grammar.PCFG(vertical=2, horizontal=1, decoding="viterbi").fit(trees)
    words = [tree.leaves() for tree in trees[:400] if tree is not None]
    words = [some for some in words if 10 < len(some) < 30][:40]
    yield lambda: model.predict(words)
    yield lambda: model.set_params(decoding="recall").predict(words[:12])
    short = [tree for tree in trees if tree is not None and len(tree.leaves()) < 12][:150]
    for solver in ("adagrad", "lbfgs"):
        yield lambda solver=solver: grammar.SpanCRF(solver=solver, min_count=1, max_iter=2).fit(short)
    yield lambda: grammar.PCFG(max_iter=2).fit(short).fit_unlabeled([tree.leaves() for tree in short])


GROUPS = {
    "text": text, "online": online, "solvers": solvers, "counting": counting, "chain": chain, "lm": language,
    "channel": channels, "grammar": grammars,
}  # fmt: skip


def milliseconds(group: str, build: str) -> dict[str, float]:
    """CPU time of each kernel's module in one run of a group."""
    with tempfile.TemporaryDirectory() as folder:
        record = f"{folder}/perf.data"
        command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HERTZ), "-o", record]
        run = [sys.executable, __file__, "--run", group]
        subprocess.run([*command, *run], env={**os.environ, "FASTLIN_ISA": build}, check=True)
        report = ["perf", "report", "-q", "--stdio", "-i", record, "--sort", "dso", "-n", "-F", "sample,dso"]
        told = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\s*(\d+)\s+(\w+)\.cpython-\S+\.so", told, flags=re.MULTILINE)
    return {module: int(samples) / HERTZ * 1e3 for samples, module in found}


def run(group: str) -> None:
    """The work of a group, in a process of its own."""
    warnings.simplefilter("ignore")
    for work in GROUPS[group]():
        try:
            work()
        except (TypeError, ValueError) as error:  # as of a solver that another version does not have
            print(f"{group}: {error}", file=sys.stderr)


def main() -> None:
    if "--run" in sys.argv:
        return run(sys.argv[-1])
    options = arguments(__doc__).parse_args()
    kernels = {kernel.split(".")[1] for build in engine.LEVELS for kernel in engine._kernels(build)}
    least: dict[str, dict[str, float]] = defaultdict(dict)
    for _ in range(options.repeat):
        for group in GROUPS:
            if options.only in (None, group):
                for build in BUILDS:
                    for module, spent in milliseconds(group, build).items():
                        place = least[f"{module}, {group}"]
                        if module in kernels:
                            place[build] = min(spent, place.get(build, spent))
    full = {name: each for name, each in sorted(least.items()) if len(each) == 3 and max(each.values()) > FEWEST}
    rows = [[name, *(each[b] for b in BUILDS), each[BUILDS[0]] / each[BUILDS[1]], each[BUILDS[1]] / each[BUILDS[2]]]
            for name, each in full.items()]  # fmt: skip
    show("CPU ms of kernels", ["kernel, of", *BUILDS, "v3 gains", "v4 over v3"], rows)
    save("builds", {name: dict(each) for name, each in full.items()})
    return None


if __name__ == "__main__":
    main()
