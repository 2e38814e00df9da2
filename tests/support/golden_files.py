"""Write a small model file of every class, and what its model answers, for `test_golden_files`.

    PYTHONPATH=src:tests python tests/support/golden_files.py [folder]

Files that are there stay as they are: they were written by the version that first had their class, and every later
version must read them.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn.preprocessing
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin.channel import EditChannel, LexicalChannel, NoisyChannel, SpellingCorrector
from fastlin.grammar import PCFG, SpanCRF, Tree
from fastlin.lm import (
    Cache,
    ClassBigramModel,
    Interpolation,
    LanguageModelClassifier,
    MaxentLM,
    NgramModel,
    WordClasses,
)
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.text import templates
from support import model_files as some

FOLDER = Path(__file__).parent.parent / "storage" / "files" / "v1"
FEW_ROWS = 5
RAW = [[("a", "D"), ("new", "A"), ("dog", "N")], [("Rex", "P"), ("ran", "V")], []]
TAGGED = [["D", "A", "N"], ["P", "V"], []]
LEXICON = {"up": ["good", "fine"], "down": {"bad": 2.0}}
SPELLED = [("good", "godo"), ("bad", "bat"), ("Straße", "Strase"), ("number", "numbber")]
HEARD = {"good": {"food": 0.25, "good": 0.5}, "bad": {"bat": 0.5}}
LEXICAL = {
    "lexical channel": LexicalChannel(),
    "lexical channel with positions": LexicalChannel(2, null=False),
    "lexical channel with a diagonal": LexicalChannel(2, alignment="diagonal"),
}
PAIRS = [("the house", "la casa"), ("a green house", ["una", "casa", "verde"]), ("the book", "el libro"), ("", "")]
ANSWERS = (
    "decision_function", "predict_proba", "predict_joint_log_proba", "score_samples", "transform", "predict",
    "predict_marginals",
)  # fmt: skip


def cases():
    """(name, estimator, what it is fitted to): at least one of each class."""
    for name, model in some.LEARNERS.items():
        yield name, model, (some.X, some.CODES)
    for name, model in some.SEVERAL.items():
        yield name, model, (some.X, some.INDICATOR)
    for name, model in some.REGRESSORS.items():
        yield name, model, (some.X, some.TARGETS)
    for name, model in some.SEMI_SUPERVISED.items():
        yield name, model, (some.X, some.SOME)
    for name, model in some.CLUSTERS.items():
        yield name, model, (some.X,)
    for name, model in some.VECTORISERS.items():
        yield name, model, (some.TEXTS,)
    for name, model in some.TRANSFORMERS.items():
        yield name, model, (some.X, some.CODES)
    for name, model in some.OF_DICTS.items():
        yield name, model, (some.DICTS,)
    for name, model in (some.SK_LEARNERS | some.SK_ENSEMBLES).items():
        yield name, model, (some.X, some.CODES)
    for name, model in some.SK_REGRESSORS.items():
        yield name, model, (some.X, some.TARGETS)
    for name, model in some.COLUMNS.items():
        yield name, model, (some.X, some.CODES)
    frozen = FrozenEstimator(some.fitted(fastlin.Perceptron(**some.FEW), some.X, some.CODES))
    yield "calibrated, frozen", CalibratedClassifierCV(frozen, cv=2), (some.X, some.CODES)
    yield "candidates", fastlin.CandidateClassifier(tol=1e-2), (some.X, [0] * 30, [3] * 30)
    yield "lexicon", fastlin.LexiconClassifier(LEXICON, vectorizer=fastlin.CountVectorizer()), (some.TEXTS,)
    yield "labels", sklearn.preprocessing.LabelEncoder(), (some.ANSWERS,)
    steps = fastlin.TfidfVectorizer(ngram_range=(1, 2)), fastlin.SGDClassifier(average=True, **some.FEW)
    yield "pipeline of texts", make_pipeline(*steps), (some.TEXTS, some.ANSWERS)
    yield "crf", CRF(edges="all", tol=0.1), (some.SENTENCES, some.TAGS)
    yield "crf of order 2", CRF(order=2, weights="dense", tol=0.1), (some.SENTENCES, some.TAGS)
    yield "memm", MEMM(edges="all", tag_dictionary="w:", tol=0.1), (some.SENTENCES, some.TAGS)
    yield "hmm", HMM(), (TOKENS, some.TAGS[:3])
    yield "hmm of order 2", HMM(order=2), (TOKENS, some.TAGS[:3])
    yield "structured perceptron", StructuredPerceptron(random_state=0), (some.SENTENCES, some.TAGS)
    mira = StructuredPerceptron(order=2, loss="mira", random_state=0)
    yield "structured mira", mira, (some.SENTENCES, some.TAGS)
    yield "templates", templates.ner(gazetteers={"x": ["new dog", "Rex"]}, pos=1), (RAW,)
    yield "n-grams", NgramModel(order=2), (some.TEXTS,)
    yield "maximum entropy of n-grams", MaxentLM(order=3), (some.TEXTS,)
    yield "maximum entropy with classes", MaxentLM(order=3, classes=6), (some.TEXTS,)
    yield "word classes", WordClasses(6), (some.TEXTS,)
    yield "class bigrams", ClassBigramModel(3, random_state=0), (some.TEXTS,)
    yield "mixture of language models", Interpolation([NgramModel(2), Cache(9)], [0.7, 0.3]), (some.TEXTS,)
    yield "classifier by language models", LanguageModelClassifier(), (some.TEXTS, some.ANSWERS)
    yield "noisy channel", NoisyChannel(NgramModel(2), HEARD, keep_unknown=True), (some.TEXTS,)
    speller = SpellingCorrector(2, min_count=1, smoothing="witten_bell")
    yield "spelling corrector", speller, (some.TEXTS, MISSPELT)
    yield "grammar", PCFG(), (TREES,)
    yield "spans", SpanCRF(min_count=1, max_iter=2, random_state=0), (TREES,)
    for name, model in LEXICAL.items():
        yield name, model, (PAIRS,)
    yield "edits", EditChannel(), (SPELLED,)
    yield "tagger with templates", CRF(features=templates.ratnaparkhi96(), tol=0.1), (RAW, TAGGED)


MISSPELT = [("their", "thier"), ("good", "god", 2), ("dog", "dogg")]
TREES = [
    "(S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (NN dog))))",
    "(S (NP-SBJ (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN telescope)))))",
    "(S (NP-SBJ (PRP she)) (VP (VBZ sleeps)) and (VP (VBZ sees)))",
]
TOKENS = [["the", "dog", "ran"], ["a", "cat"], []]


def asked_of(data):
    """What a model is asked about: rows as it was fitted to, the words of trees."""
    return [Tree.from_string(text).leaves() for text in data[0]] if data[0] is TREES else data[0]


def answers(model, data):
    """What a model says of the data that it was fitted to, as JSON has it."""
    grouped = isinstance(model, fastlin.CandidateClassifier)
    rows = (data[0], data[2]) if grouped else (asked_of(data)[:FEW_ROWS],)
    found = {name: plain(getattr(model, name)(*rows)) for name in ANSWERS if hasattr(model, name)}
    if hasattr(model, "partial_fit") and hasattr(model, "predict") and not hasattr(model, "steps"):
        model.partial_fit(*data)  # what learning goes on from is in the file, too
        found |= {f"{name} later": plain(getattr(model, name)(*rows)) for name in ANSWERS[:3] if hasattr(model, name)}
    return found


def plain(value):
    """Lists of numbers and strings; numbers with ten figures."""
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Tree):
        return str(value)
    return float(f"{value:.10g}") if isinstance(value, float) else value


def place(name, folder=FOLDER):
    """The file of a case."""
    return folder / f"{name.replace(',', '').replace(' ', '-')}.fastlin"


def main(folder=FOLDER):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    told = folder / "answers.json"
    known = json.loads(told.read_text()) if told.exists() else {}
    for name, model, data in cases():
        if name not in known:
            fitted = some.fitted(model, *data)
            fastlin.save(fitted, place(name, folder))
            known[name] = answers(fitted, data)
    lines = [f"{json.dumps(name)}: {json.dumps(found, separators=(',', ':'))}" for name, found in known.items()]
    told.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
