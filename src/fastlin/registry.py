"""The one table of the public names: where each is defined, and which module holds the codec of a class.

The lazy names of the packages, their stubs (`tests/support/stubs.py` writes them) and the classes that a model file may
hold are made from it. It holds strings: what a name stands for is imported when it is looked up, so that `import
fastlin` does without scikit-learn, which takes over a second. `tests/test_registry.py` proves that no package offers
what lies above it, and that codecs are looked up above all of them.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class PublicName(NamedTuple):
    """Where a public name is defined, and of a class that goes into model files: the module of its codec."""

    module: str
    codec: str | None = None
    attribute: str | None = None  # the name in the module, where it is another; "": the module itself


def _model(path: str) -> PublicName:
    """A class of fastlin whose codec lies in the `_codec.py` of its room."""
    return PublicName(f"fastlin.{path}", f"fastlin.{path.split('.', 1)[0]}._codec")


def _tagger(room: str) -> PublicName:
    """A model of sequences, whose codec lies beside it: a tagger that is loaded imports no other."""
    return PublicName(f"fastlin.sequence.{room}.model", f"fastlin.sequence.{room}._codec")


def _alike(module: str, *names: str) -> dict[str, PublicName]:
    """Names that one module defines, and that no model file holds."""
    return dict.fromkeys(names, PublicName(module))


_FEATURES = {
    "Conjunctions": _model("features.conjunctions"),
    "DictVectorizer": _model("features.dict_vectorizer"),
    "DocumentFeatures": _model("features.document_features"),
    "Elementwise": _model("features.elementwise"),
    "FeatureHasher": _model("features.dict_vectorizer"),
    "LogCountRatio": _model("features.log_count_ratio"),
    "CountVectorizer": _model("text.count_vectorizer"),
    "HashingVectorizer": _model("text.hashing_vectorizer"),
    "TfidfTransformer": _model("text.tfidf_transformer"),
    "TfidfVectorizer": _model("text.tfidf_vectorizer"),
}
PUBLIC: dict[str, dict[str, PublicName]] = {
    "fastlin": _FEATURES | {
        "AROWClassifier": _model("linear.arow"),
        "CandidateClassifier": _model("linear.candidates"),
        "LexiconClassifier": _model("linear.lexicon"),
        "LinearSVC": _model("linear.svm"),
        "LinearSVR": _model("linear.svr"),
        "LogisticRegression": _model("linear.logistic"),
        "LogisticRegressionCV": _model("linear.logistic_cv"),
        "MIRAClassifier": _model("linear.mira"),
        "MaxEnt": PublicName("fastlin.linear.logistic", attribute="LogisticRegression"),
        "PassiveAggressiveClassifier": _model("linear.passive_aggressive"),
        "NearestCentroid": _model("linear.nearest_centroid"),
        "Perceptron": _model("linear.perceptron"),
        "Ridge": _model("linear.ridge"),
        "SGDClassifier": _model("linear.sgd"),
        "SGDRegressor": _model("linear.sgd_regressor"),
        "CategoricalNB": _model("naive_bayes.categorical"),
        "BernoulliNB": _model("naive_bayes.bernoulli"),
        "ComplementNB": _model("naive_bayes.complement"),
        "MultinomialNB": _model("naive_bayes.multinomial"),
        "SemiSupervisedNB": _model("naive_bayes.semi_supervised"),
        "SemiSupervisedNBCV": _model("naive_bayes.semi_supervised_cv"),
        "MultinomialMixture": _model("mixture.multinomial"),
        "KMeans": _model("cluster.kmeans"),
        "MiniBatchKMeans": _model("cluster.mini_batch"),
        "Corpus": PublicName("fastlin.data.corpus"),
        "ProgressBar": PublicName("fastlin.core.progress_bar"),
        "ModelFileError": PublicName("fastlin.storage.load_context"),
        **_alike("fastlin.model_files.save_load", "load", "save"),
    },
    "fastlin.channel": {
        "LexicalChannel": PublicName("fastlin.channel.lexical_channel", "fastlin.channel._lexical_codec"),
        "EditChannel": _model("channel.edit_channel"),
        "NoisyChannel": _model("channel.noisy_channel"),
        "EditAlignment": PublicName("fastlin.channel.edit_channel"),
        "SpellingCorrector": PublicName("fastlin.channel.spelling", "fastlin.channel._spelling_codec"),
        "Candidates": PublicName("fastlin.channel.base"),
        "Channel": PublicName("fastlin.channel.base"),
        "Decoding": PublicName("fastlin.channel.decoding"),
        **_alike("fastlin.channel.links", "read_links", "symmetrize", "write_links"),
    },
    "fastlin.grammar": {
        "PCFG": _model("grammar.pcfg"),
        "SpanCRF": PublicName("fastlin.grammar.span_crf.model", "fastlin.grammar._span_codec"),
        "Tree": PublicName("fastlin.grammar.trees"),
        "evalb": PublicName("fastlin.grammar.evalb_scorer"),
        **_alike("fastlin.grammar.treebank", "read_trees", "write_trees"),
    },
    "fastlin.interchange": {
        "VWHasher": _model("features.vw_hasher"),
        **_alike("fastlin.interchange.fasttext", "LabelledTexts", "read_fasttext"),
        "read_crfsuite": PublicName("fastlin.interchange.crfsuite"),
        "read_liblinear": PublicName("fastlin.interchange.liblinear"),
        "read_vw": PublicName("fastlin.interchange.vw"),
        "to_sklearn": PublicName("fastlin.interchange.sklearn_twins"),
        **_alike("fastlin.interchange.safetensors", "read_safetensors", "write_safetensors"),
    },
    "fastlin.lm": {
        "Cache": _model("lm.cache"),
        "ClassBigramModel": _model("lm.class_bigram"),
        "Interpolation": _model("lm.interpolation"),
        "LanguageModelClassifier": _model("lm.classifier"),
        "MaxentLM": _model("lm.maxent"),
        "NgramModel": PublicName("fastlin.lm.ngram", "fastlin.lm._ngram_codec"),  # which is loaded without the others
        "WordClasses": _model("lm.word_classes"),
        "ArpaError": PublicName("fastlin.lm.arpa"),
        "rescore": PublicName("fastlin.lm.rescoring"),
        **_alike("fastlin.lm.base", "LanguageModel", "State"),
    },
    "fastlin.select": {
        "CountCutoff": _model("select.cutoff"),
        "SelectFeatures": _model("select.features"),
        **_alike("fastlin.select.scores", "chi2", "information_gain"),
    },
    "fastlin.data": {
        **_alike("fastlin.data.blocks", "Block", "Documents"),
        **_alike("fastlin.data.corpus", "Corpus", "convert"),
        **_alike("fastlin.data.errors", "MalformedLines", "ReadError"),
        "CorpusError": PublicName("fastlin.data.npy_files"),
        **_alike("fastlin.data.reader", "FORMATS", "Reader", "read"),
        "Segment": PublicName("fastlin.data.segments"),
        "load_svmlight": PublicName("fastlin.data.readers.svmlight"),
        "dump_svmlight": PublicName("fastlin.data.svmlight_writer"),
    },
    "fastlin.sequence": {
        "CRF": _tagger("crf"),
        "HMM": _tagger("hmm"),
        "MEMM": _tagger("memm"),
        "StructuredPerceptron": _tagger("perceptron"),
        "Attributes": PublicName("fastlin.sequence.tokens"),
        "metrics": PublicName("fastlin.sequence.metrics", attribute=""),
        **_alike("fastlin.sequence.constraints", "AllBut", "Constraints"),
        **_alike("fastlin.sequence.conll", "read_conll", "write_conll"),
        "compare_spans": PublicName("fastlin.sequence.span_comparison"),
        "tokenize": PublicName("fastlin.sequence.word_tokenizer"),
    },
    "fastlin.text": {
        **{name: PublicName(entry.module) for name, entry in _FEATURES.items()},
        **_alike("fastlin.text.negation", "NEGATORS", "mark_negation"),
        "TextPredictor": PublicName("fastlin.text.text_predictor"),
        **_alike("fastlin.text.located_terms", "TermSpan", "term_spans"),
        **_alike(
            "sklearn.feature_extraction.text",
            "ENGLISH_STOP_WORDS", "strip_accents_ascii", "strip_accents_unicode", "strip_tags",
        ),
    },
    "fastlin.text.templates": {
        "Templates": _model("text.templates.estimator"),
        **_alike("fastlin.text.templates.dsl", "BOS", "EOS", "Column", "Part", "Template", "crfpp"),
        **_alike("fastlin.text.templates.presets", "PRESETS", "chunking", "ner", "pos", "ratnaparkhi96"),
    },
}  # fmt: skip
# attributes of `fastlin` before they are imported
ROOMS = (
    "channel",
    "data",
    "grammar",
    "inspection",
    "interchange",
    "lm",
    "losses",
    "onnx",
    "plot",
    "select",
    "sequence",
    "storage",
    "text",
)
WITHOUT_SKLEARN = ("fastlin.data",)  # packages that import none of it
# the classes of other packages that a model file may hold, by the module of their codecs
PEERS: dict[str, dict[str, tuple[str, ...]]] = {
    "fastlin.model_files.sklearn_codecs": {
        "sklearn.decomposition": ("TruncatedSVD",),
        "sklearn.feature_extraction": ("DictVectorizer", "FeatureHasher"),
        "sklearn.feature_extraction.text": (
            "CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer",
        ),
        "sklearn.feature_selection": ("SelectKBest", "SelectPercentile", "VarianceThreshold"),
        "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
        "sklearn.preprocessing": ("Binarizer", "LabelEncoder", "MaxAbsScaler", "Normalizer", "StandardScaler"),
    },
    "fastlin.model_files.sklearn_ensembles": {
        "sklearn.calibration": ("CalibratedClassifierCV",),
        "sklearn.compose": ("ColumnTransformer",),
        "sklearn.ensemble": ("VotingClassifier",),
        "sklearn.frozen": ("FrozenEstimator",),
        "sklearn.isotonic": ("IsotonicRegression",),
        "sklearn.multiclass": ("OneVsRestClassifier",),
        "sklearn.preprocessing": ("LabelBinarizer",),
    },
    "fastlin.model_files.sklearn_learners": {
        "sklearn.linear_model": (
            "LogisticRegression", "LogisticRegressionCV", "Perceptron", "Ridge", "RidgeClassifier", "SGDClassifier",
            "SGDRegressor",
        ),
        "sklearn.naive_bayes": ("BernoulliNB", "ComplementNB", "MultinomialNB"),
        "sklearn.svm": ("LinearSVC", "LinearSVR"),
    },
}  # fmt: skip


class FileFormat(NamedTuple):
    """A format of files: who reads it, its suffixes, and the options of `data.read` that not all formats have.

    The reader is "module:function", and takes the files and a `ReadRequest`. `may_lack_labels`: of documents to
    predict, labels are read only where they can be missed.
    """

    reader: str
    suffixes: tuple[str, ...]
    options: frozenset[str]
    may_lack_labels: bool = False

    def open(self, files: list[Any], request: Any) -> Any:
        """The blocks of files."""
        module, name = self.reader.split(":")
        return getattr(importlib.import_module(f"fastlin.data.readers.{module}"), name)(files, request)


_COLUMNS = frozenset({"label", "numeric", "text", "weight", "keep"})
_TEXT = frozenset({"encoding", "errors", "vectorizer"})
FILE_FORMATS: dict[str, FileFormat] = {
    "tsv": FileFormat("delimited:read_tsv", (".tsv", ".tab"), _COLUMNS | _TEXT | {"delimiter", "header"}),
    "csv": FileFormat("delimited:read_csv", (".csv",), _COLUMNS | _TEXT | {"delimiter", "header"}),
    "jsonl": FileFormat("line_formats:read_jsonl", (".jsonl", ".ndjson"), _COLUMNS | _TEXT, True),
    "lines": FileFormat("line_formats:read_lines", (".txt",), _TEXT),
    "fasttext": FileFormat("fasttext:read_fasttext", (".fasttext", ".ft"), _TEXT | {"label", "numeric"}, True),
    "svmlight": FileFormat(
        "svmlight:read_svmlight", (".svmlight", ".libsvm", ".svm"),
        frozenset({"numeric", "weight", "n_features", "zero_based"}),
    ),
    "vw": FileFormat("vw:read_vw", (".vw",), _TEXT | {"label", "numeric"}, True),
    "parquet": FileFormat(
        "arrow:read_parquet", (".parquet", ".pq"), _COLUMNS | {"n_features", "vectorizer"}, True
    ),
    "arrow": FileFormat(
        "arrow:read_arrow", (".arrow", ".arrows", ".feather", ".ipc"), _COLUMNS | {"n_features", "vectorizer"}, True
    ),
}  # fmt: skip
FUNCTIONS: dict[str, tuple[str, ...]] = {  # and the functions that may be parameters of them
    "fastlin.select": ("chi2", "information_gain"),
    "sklearn.feature_selection": ("chi2", "f_classif", "mutual_info_classif"),
}

# {class in a file: its name and where it is}
CLASSES: dict[str, tuple[str, PublicName]] = {
    **{
        f"{package}.{name}": (name, entry)
        for package, names in PUBLIC.items()
        for name, entry in names.items()
        if entry.codec
    },
    **{
        f"{module}.{name}": (name, PublicName(module, codec))
        for codec, modules in PEERS.items()
        for module, names in modules.items()
        for name in names
    },
}

Names = tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]


def public_names(package: str) -> Names:
    """`__all__`, `__getattr__` and `__dir__` of a package of the table: what is asked for is imported when it is."""
    entries, rooms = PUBLIC[package], ROOMS if package == "fastlin" else ()

    def look_up(name: str) -> Any:
        if name in entries:
            entry = entries[name]
            if package not in WITHOUT_SKLEARN:
                importlib.import_module("fastlin.runtime.sklearn_import")  # before a module imports scikit-learn
            module = importlib.import_module(entry.module)
            return module if entry.attribute == "" else getattr(module, entry.attribute or name)
        if name in rooms:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    names = sorted(entries)
    return names, look_up, lambda: sorted({*vars(sys.modules[package]), *names, *rooms})
