"""Which features to keep: those seen often enough, those that tell labels apart, those that a model gains from."""

from fastlin.select.cutoff import CountCutoff
from fastlin.select.features import SelectFeatures
from fastlin.select.scores import chi2, information_gain

__all__ = ["CountCutoff", "SelectFeatures", "chi2", "information_gain"]
