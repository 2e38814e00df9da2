"""The weights of an online run with all that they owe: what kernels learn in, bound for a call."""

from fastlin.engine.online.lazy_updates cimport LazyState
from fastlin.engine.online.minibatch cimport Intercepts
from fastlin.engine.online.update_rules cimport Counters, ScaleEpoch, UpdateRule


cdef class LazyWeights:
    """Arrays of a state; see `lazy_weights.pyx`."""

    cdef const UpdateRule* rule
    cdef Counters* counters
    cdef ScaleEpoch* past
    cdef Py_ssize_t n_past
    cdef LazyState lazy
    cdef Intercepts bias
    cdef void* W                     # [V, K]
    cdef bint single                 # of float32, else of float64
    cdef bint learns                 # may be written into
    cdef Py_ssize_t V, K, padded_width
    cdef tuple owners                # of the memory
    cdef int bind_scalars(self, counters, past) except -1
    cdef int bind_features(self, debt, scale_epoch, touched) except -1
    cdef float* floats(self, array) except? NULL
    cdef double* doubles(self, array, Py_ssize_t n, Py_ssize_t width) except? NULL
    cdef int check_learner(self) except -1
