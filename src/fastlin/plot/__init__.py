"""Plots of fitted models, in the style of scikit-learn's displays: `XDisplay.from_estimator(model)`, `.plot(ax=ax)`.

They need matplotlib (`pip install fastlin[plot]`). A display holds the numbers that it draws, and draws them again as
often as it is asked, into axes of its own or of the caller's.
"""

from fastlin.plot.calibration import CalibrationDisplay
from fastlin.plot.em_bound import EMBoundDisplay
from fastlin.plot.fit_history import FitHistoryDisplay
from fastlin.plot.regularization_path import RegularizationPathDisplay
from fastlin.plot.selection_curve import SelectionCurveDisplay
from fastlin.plot.top_features import TopFeaturesDisplay
from fastlin.plot.transition_matrix import TransitionsDisplay

__all__ = [
    "CalibrationDisplay",
    "EMBoundDisplay",
    "FitHistoryDisplay",
    "RegularizationPathDisplay",
    "SelectionCurveDisplay",
    "TopFeaturesDisplay",
    "TransitionsDisplay",
]
