"""Names that parameters of several classes choose from, as types: `tests/validation/test_choices.py` holds them against
the tables of parameters, which fits and model files obey.
"""

from typing import Literal

LogLinearSolver = Literal[
    "auto", "gd", "cg", "newton", "lbfgs", "gis", "iis", "sgd", "adagrad",
    "newton-cg", "newton-cholesky", "liblinear", "sag", "saga",
]  # fmt: skip
LearningRate = Literal[
    "constant", "adaptive", "adagrad", "ftrl", "pa1", "pa2", "optimal", "invscaling", "inverse", "pegasos"
]
ResidualLoss = Literal["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
ClassifierLoss = Literal["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"] | ResidualLoss
WeightPenalty = Literal["l2", "l1", "elasticnet"]
Sampling = Literal["shuffle", "replace", "order"]
MultiClass = Literal["multinomial", "ovr"]
PairWeights = Literal["observed", "dense"]
RowNorm = Literal["l1", "l2"]
Analyzer = Literal["word", "char", "char_wb"]
DecodeErrors = Literal["strict", "ignore", "replace"]
Smoothing = Literal[
    "modified_kneser_ney", "kneser_ney", "absolute_discounting", "witten_bell", "katz", "dirichlet", "lidstone",
    "laplace", "relative_frequency",
]  # fmt: skip
Unit = Literal["word", "character"]
Direction = Literal["forward", "backward"]
Markup = Literal["raise", "keep"]
TextFormatName = Literal["csv", "fasttext", "jsonl", "lines", "tsv", "vw"]
FileFormatName = TextFormatName | Literal["arrow", "parquet", "svmlight"]
ShardKind = Literal["arrow", "npy"]
SpanScheme = Literal["bio", "iob2", "iob1", "iobes", "bilou"]
LinkMethod = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
