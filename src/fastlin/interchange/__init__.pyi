from fastlin.features.vw_hasher import VWHasher as VWHasher
from fastlin.interchange.crfsuite import read_crfsuite as read_crfsuite
from fastlin.interchange.liblinear import read_liblinear as read_liblinear
from fastlin.interchange.safetensors import read_safetensors as read_safetensors
from fastlin.interchange.safetensors import write_safetensors as write_safetensors
from fastlin.interchange.sklearn_twins import to_sklearn as to_sklearn
from fastlin.interchange.vw import read_vw as read_vw
