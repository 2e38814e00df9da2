"""The weights of an online run with all that they owe: what kernels learn in, and what readers are told.

Learners of the same state may replace its arrays between two calls, where somebody looks at them: so they are bound
for a call, which does a bounded piece of work.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fastlin.engine.core.allocation cimport allocate
from fastlin.engine.core.csr cimport real
from fastlin.engine.online.lazy_updates cimport LazyState, catch_up
from fastlin.engine.online.update_rules cimport Counters, ScaleEpoch, UpdateRule


@cython.final
cdef class LazyWeights:
    """The rule and its counters, the weights W [V, K], and what features owe; of length 0 is what the rule needs not.

    `bias` [5, width] are the intercepts, their Σg², their average's total, and FTRL's z and √Σg². `per_weight` are the
    average's total, Σg², FTRL's z and √Σg² and the gradient of a mini-batch, [V, K]; `per_feature` the debt, the scale
    epoch and the step of the last touch, [V]. To `learn`, all must be writable, which those of a mapped file are not.
    """

    def __cinit__(self, const UpdateRule[::1] rule, counters, past, W, bias, tuple per_weight, tuple per_feature,
                  bint learn):
        cdef double* intercepts
        self.owners = (rule, counters, past, W, bias, per_weight, per_feature)
        self.learns, self.single = learn, W.itemsize == sizeof(float)
        self.V, self.K = W.shape
        self.padded_width = bias.shape[1]
        if self.padded_width < self.K or (self.K > 1 and self.padded_width % 8):
            raise ValueError(f"intercepts {self.padded_width} wide do not fit {self.K} columns")
        self.rule = &rule[0]
        self.bind_scalars(counters, past)
        self.W = <void*>self.floats(W) if self.single else <void*>self.doubles(W, self.V, self.K)
        intercepts = self.doubles(bias, 5, self.padded_width)
        self.bias.value, self.bias.squares = intercepts, intercepts + self.padded_width
        self.bias.total, self.bias.z = intercepts + 2 * self.padded_width, intercepts + 3 * self.padded_width
        self.bias.root = intercepts + 4 * self.padded_width
        self.lazy.K, self.lazy.past = self.K, self.past
        total, squares, z, root, batch_gradient = per_weight
        self.lazy.total = self.doubles(total, self.V, self.K)
        self.lazy.squares = self.doubles(squares, self.V, self.K)
        self.lazy.z = self.doubles(z, self.V, self.K)
        self.lazy.root = self.doubles(root, self.V, self.K)
        self.lazy.batch_gradient = self.doubles(batch_gradient, self.V, self.K)
        debt, scale_epoch, touched = per_feature
        self.bind_features(debt, scale_epoch, touched)

    cdef int bind_scalars(self, counters, past) except -1:
        cdef const Counters[::1] own
        cdef const ScaleEpoch[::1] epochs
        cdef Counters[::1] own_to_write
        cdef ScaleEpoch[::1] epochs_to_write
        if self.learns:
            own_to_write, epochs_to_write = counters, past
            own, epochs = own_to_write, epochs_to_write
        else:
            own, epochs = counters, past
        self.counters, self.past, self.n_past = <Counters*>&own[0], <ScaleEpoch*>&epochs[0], epochs.shape[0]
        return 0

    cdef float* floats(self, array) except? NULL:
        """Where the weights begin that are float32."""
        cdef const float[:, ::1] numbers
        cdef float[:, ::1] to_write
        if len(array) == 0:
            return NULL
        if self.learns:
            to_write = array
            numbers = to_write
        else:
            numbers = array
        return <float*>&numbers[0, 0]

    cdef double* doubles(self, array, Py_ssize_t n, Py_ssize_t width) except? NULL:
        """Where an array of this shape begins; NULL: there is none."""
        cdef const double[:, ::1] numbers
        cdef double[:, ::1] to_write
        if len(array) == 0:
            return NULL
        if self.learns:
            to_write = array
            numbers = to_write
        else:
            numbers = array
        if numbers.shape[0] != n or numbers.shape[1] != width:
            raise ValueError(f"an array of shape {array.shape} beside weights wants ({n}, {width})")
        return <double*>&numbers[0, 0]

    cdef int bind_features(self, debt, scale_epoch, touched) except -1:
        cdef const double[::1] debts
        cdef const int32_t[::1] epochs
        cdef const int64_t[::1] steps
        for array in (debt, scale_epoch, touched):
            if len(array) not in (0, self.V):
                raise ValueError(f"an array of {len(array)} beside weights of {self.V} features")
            if self.learns and not array.flags.writeable:
                raise ValueError("buffer source array is read-only")
        if len(debt):
            debts = debt
            self.lazy.debt = <double*>&debts[0]
        if len(scale_epoch):
            epochs = scale_epoch
            self.lazy.scale_epoch = <int32_t*>&epochs[0]
        if len(touched):
            steps = touched
            self.lazy.touched = <int64_t*>&steps[0]
        return 0

    cdef int check_learner(self) except -1:
        """Raise ValueError where the arrays were bound to be read."""
        if not self.learns:
            raise ValueError("the weights were bound to be read, not to learn")
        return 0

    def catch_up_all(self):
        """Pay every debt of every feature: then scale 1, scale epoch 0, no average weight, no debt describe the state.

        The steps of Adagrad go on counting.
        """
        self.check_learner()
        with nogil:
            if self.single:
                catch_up_features(self, <float*>self.W)
            else:
                catch_up_features(self, <double*>self.W)
            self.counters.norm *= self.counters.scale * self.counters.scale
            self.counters.scale = 1
            self.counters.average_weight = 0
            self.counters.debt = 0
            self.counters.scale_epoch = 0

    def current(self, const int64_t[::1] features, Py_ssize_t start, out):
        """out[i] = the weights of feature features[i], or without such a list of start + i, with all debts paid.

        Where there is an average, it stands in their place. The state stays as it is; `out` has the weights' type.
        """
        cdef float[:, ::1] floats
        cdef double[:, ::1] doubles
        cdef Py_ssize_t n = len(out)
        cdef const int64_t* listed = &features[0] if features.shape[0] else NULL
        cdef double* spare
        if n == 0:
            return
        if self.single:
            floats = out
        else:
            doubles = out
        spare = <double*>allocate(self.K, sizeof(double))
        if spare == NULL:
            raise MemoryError
        with nogil:
            if self.single:
                write_current(self, <const float*>self.W, listed, start, n, spare, &floats[0, 0])
            else:
                write_current(self, <const double*>self.W, listed, start, n, spare, &doubles[0, 0])
        free(spare)


cdef inline void finish_scale_epoch(const Counters* counters, const LazyState* lazy, real* W,
                                    Py_ssize_t j) noexcept nogil:
    """Take what feature j owes to the present scale epoch: its share of the average, and the scale."""
    cdef Py_ssize_t k, K = lazy.K
    if lazy.total != NULL:
        for k in range(K):
            lazy.total[j * K + k] += counters.average_weight * W[j * K + k]
    if lazy.scale_epoch != NULL:
        for k in range(K):
            W[j * K + k] *= <real>counters.scale


cdef void catch_up_features(LazyWeights weights, real* W) noexcept nogil:
    """Pay the debts of all features."""
    cdef LazyState* lazy = &weights.lazy
    cdef Py_ssize_t j
    for j in range(weights.V):
        catch_up(weights.rule, weights.counters, lazy, W, j)
        if lazy.touched != NULL:
            continue
        finish_scale_epoch(weights.counters, lazy, W, j)
        if lazy.scale_epoch != NULL:
            lazy.scale_epoch[j] = 0
        if lazy.debt != NULL:
            lazy.debt[j] = 0


cdef void write_current(LazyWeights weights, const real* W, const int64_t* features, Py_ssize_t start, Py_ssize_t n,
                        double* spare, real* out) noexcept nogil:
    """`current`: each feature's debts are paid in a copy of what it has, as if it were the only one."""
    cdef const LazyState* state = &weights.lazy
    cdef Counters* counters = weights.counters
    cdef Py_ssize_t i, j, k, K = weights.K
    cdef bint averages = counters.averaged > 0 and state.total != NULL
    cdef double owed = 0
    cdef int32_t born = 0
    cdef int64_t rested = 0
    cdef LazyState lazy = state[0]
    lazy.total = spare if state.total != NULL else NULL
    lazy.debt = &owed if state.debt != NULL else NULL
    lazy.scale_epoch = &born if state.scale_epoch != NULL else NULL
    lazy.touched = &rested if state.touched != NULL else NULL
    for i in range(n):
        j = features[i] if features != NULL else start + i
        if state.squares != NULL:
            lazy.squares = state.squares + j * K
        memcpy(out, W + j * K, K * sizeof(real))
        if state.total != NULL:
            memcpy(spare, state.total + j * K, K * sizeof(double))
        if state.debt != NULL:
            owed = state.debt[j]
        if state.scale_epoch != NULL:
            born = state.scale_epoch[j]
        if state.touched != NULL:
            rested = state.touched[j]
        catch_up(weights.rule, counters, &lazy, out, 0)
        if lazy.touched == NULL:
            finish_scale_epoch(counters, &lazy, out, 0)
        if averages:
            for k in range(K):
                out[k] = <real>(spare[k] / counters.averaged)
        out += K
