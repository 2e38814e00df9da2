"""What is inside a model: its strongest features, why a document got its label, how often it is right; n-grams."""

from fastlin.inspect.explanation import Explanation, explain
from fastlin.inspect.features import LabelFeatures, top_features
from fastlin.inspect.language import (
    ClassSummary,
    LanguageSummary,
    OrderSummary,
    SentenceSurprisal,
    explain_text,
    language,
    surprisal,
)
from fastlin.inspect.ranking import Cut, LabelThreshold, RankingReport, RankingTally, ranking
from fastlin.inspect.report import Bin, LabelReport, Report, Tally, report
from fastlin.inspect.summary import Part, Summary, summary
from fastlin.inspect.transitions import Transition, TransitionWeights, transitions

__all__ = [
    "Bin",
    "ClassSummary",
    "Cut",
    "Explanation",
    "LabelFeatures",
    "LabelReport",
    "LabelThreshold",
    "LanguageSummary",
    "OrderSummary",
    "Part",
    "RankingReport",
    "RankingTally",
    "Report",
    "SentenceSurprisal",
    "Summary",
    "Tally",
    "Transition",
    "TransitionWeights",
    "explain",
    "explain_text",
    "language",
    "ranking",
    "report",
    "summary",
    "surprisal",
    "top_features",
    "transitions",
]
