"""What is inside a model: its strongest features, why a document got its label, how often it is right."""

from fastlin.inspect.explanation import Explanation, explain
from fastlin.inspect.features import LabelFeatures, top_features
from fastlin.inspect.ranking import Cut, LabelThreshold, RankingReport, RankingTally, ranking
from fastlin.inspect.report import Bin, LabelReport, Report, Tally, report
from fastlin.inspect.summary import Part, Summary, summary
from fastlin.inspect.transitions import Transition, TransitionWeights, transitions

__all__ = [
    "Bin",
    "Cut",
    "Explanation",
    "LabelFeatures",
    "LabelReport",
    "LabelThreshold",
    "Part",
    "RankingReport",
    "RankingTally",
    "Report",
    "Summary",
    "Tally",
    "Transition",
    "TransitionWeights",
    "explain",
    "ranking",
    "report",
    "summary",
    "top_features",
    "transitions",
]
