"""Model files: any model in one file, raw text in and a label out."""

import fastlin.storage

# isort: split
import fastlin.runtime.sklearn_import  # noqa: F401 - and these without what they do not use
