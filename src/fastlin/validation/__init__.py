"""The only package that checks what a user passes in.

Whatever comes back from here is proved: the kernels run without bounds checks on it. Errors name the argument, the row
and the value, and are raised before anything is changed.
"""

from fastlin.validation.arrays import as_cutoff, as_finite, as_positive, as_real, as_vector, as_weights
from fastlin.validation.categorical import CategoricalColumn, as_tuples
from fastlin.validation.label_sets import CONTAINERS, LabelSets, as_label_sets, is_indicator
from fastlin.validation.labels import (
    as_classes,
    as_groups,
    as_labels,
    as_lengths,
    as_positions,
    as_target_columns,
    as_targets,
    class_factors,
)
from fastlin.validation.parameters import (
    CHEAP,
    as_callback,
    as_dtype,
    as_generator,
    check_n_jobs,
    check_verbose,
    number_of_parts,
    one_of,
    real_number,
    whole_number,
)
from fastlin.validation.partial_labels import as_partly_labels, places_of_labels, refuse_missing
from fastlin.validation.rows import (
    MAX_ABS_VALUE,
    MAX_COLUMNS,
    CSRRows,
    as_rows,
    as_sparse,
    check_structure,
    check_values,
    is_plain_csr,
)
from fastlin.validation.texts import as_texts

__all__ = [
    "CHEAP",
    "CONTAINERS",
    "MAX_ABS_VALUE",
    "MAX_COLUMNS",
    "CSRRows",
    "CategoricalColumn",
    "LabelSets",
    "as_callback",
    "as_classes",
    "as_cutoff",
    "as_dtype",
    "as_finite",
    "as_generator",
    "as_groups",
    "as_label_sets",
    "as_labels",
    "as_lengths",
    "as_partly_labels",
    "as_positions",
    "as_positive",
    "as_real",
    "as_rows",
    "as_sparse",
    "as_target_columns",
    "as_targets",
    "as_texts",
    "as_tuples",
    "as_vector",
    "as_weights",
    "check_n_jobs",
    "check_structure",
    "check_values",
    "check_verbose",
    "class_factors",
    "is_indicator",
    "is_plain_csr",
    "number_of_parts",
    "one_of",
    "places_of_labels",
    "real_number",
    "refuse_missing",
    "whole_number",
]
