"""Inspection of models: strong features, why a document got its label, how often that is right; n-grams and rules."""

from fastlin.inspection.comparison import Comparison, compare
from fastlin.inspection.explanation import Explanation, explain
from fastlin.inspection.features import FeatureTable, LabelFeatures, top_features
from fastlin.inspection.grammar import GrammarSummary, SymbolSummary, grammar
from fastlin.inspection.language import (
    ClassSummary,
    LanguageSummary,
    OrderSummary,
    SentenceSurprisal,
    explain_text,
    language,
    surprisal,
)
from fastlin.inspection.ranking import Cut, LabelThreshold, RankingAccumulator, RankingReport, ranking
from fastlin.inspection.regression import RegressionAccumulator, RegressionReport, regression_report
from fastlin.inspection.regressor import RegressorSummary, regressor
from fastlin.inspection.report import Bin, LabelReport, Report, ReportAccumulator, report
from fastlin.inspection.summary import StepSummary, Summary, summary
from fastlin.inspection.tagging import TaggedSentence, tagging
from fastlin.inspection.token_explanation import explain_token
from fastlin.inspection.transitions import Transition, TransitionWeights, transitions

__all__ = [
    "Bin",
    "ClassSummary",
    "Comparison",
    "Cut",
    "Explanation",
    "FeatureTable",
    "GrammarSummary",
    "LabelFeatures",
    "LabelReport",
    "LabelThreshold",
    "LanguageSummary",
    "OrderSummary",
    "RankingAccumulator",
    "RankingReport",
    "RegressionAccumulator",
    "RegressionReport",
    "RegressorSummary",
    "Report",
    "ReportAccumulator",
    "SentenceSurprisal",
    "StepSummary",
    "Summary",
    "SymbolSummary",
    "TaggedSentence",
    "Transition",
    "TransitionWeights",
    "compare",
    "explain",
    "explain_text",
    "explain_token",
    "grammar",
    "language",
    "ranking",
    "regression_report",
    "regressor",
    "report",
    "summary",
    "surprisal",
    "tagging",
    "top_features",
    "transitions",
]
