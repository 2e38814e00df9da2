from fastlin.select.cutoff import CountCutoff as CountCutoff
from fastlin.select.features import SelectFeatures as SelectFeatures
from fastlin.select.scores import chi2 as chi2
from fastlin.select.scores import information_gain as information_gain
