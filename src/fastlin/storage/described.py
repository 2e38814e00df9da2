"""Model files of estimators that were never objects: of what class they are, their parameters, what was learnt."""

from dataclasses import dataclass, field
from typing import Any

from fastlin.storage.archive import write_archive
from fastlin.storage.json_values import JsonEncoder
from fastlin.storage.weight_packing import Packing
from fastlin.version import __version__

KIND = "model"


@dataclass(frozen=True)
class DescribedEstimator:
    """The class of an estimator, as model files name it, its parameters, and what its codec keeps of it."""

    kind: str
    parameters: dict[str, Any]
    learnt: dict[str, Any] = field(default_factory=dict)


def described_pipeline(steps: list[tuple[str, DescribedEstimator]]) -> DescribedEstimator:
    """scikit-learn's Pipeline of some steps."""
    return DescribedEstimator("sklearn.pipeline.Pipeline", {"memory": None, "steps": steps, "verbose": False})


def save_described(estimator: DescribedEstimator, path: Any, packing: Packing) -> dict[str, Any]:
    """Write the file that `save` would write of the estimator; says what `save` says of it."""
    encoder = JsonEncoder(lambda value, name: _described(value, name, encoder))
    header = {"model": _described(estimator, estimator.kind.rpartition(".")[2], encoder)["model"]}
    report: dict[str, Any] = {"bytes": write_archive(path, KIND, header | {"fastlin": __version__}, encoder.arrays)}
    return report | {"weights": packing.weights, "pruned": packing.pruned}


def _described(value: Any, name: str, encoder: JsonEncoder) -> dict[str, Any]:
    if not isinstance(value, DescribedEstimator):
        raise TypeError(f"{name} is a {type(value).__name__}, which does not go into a model file: {value!r:.80}")
    parameters = {key: encoder(item, f"{name}.{key}") for key, item in sorted(value.parameters.items())}
    learnt = {key: encoder(item, f"{name}.{key.strip('_')}") for key, item in value.learnt.items()}
    return {"model": {"class": value.kind, "parameters": parameters, "learnt": learnt}}
