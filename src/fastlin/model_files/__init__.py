"""Model files: any model in one file, raw text in and a label out."""

import fastlin.storage  # noqa: F401 - the engine before scikit-learn's libraries: a tenth of a second of the system less
