"""Products of the columns of a row: which occur, and what each row has of those that are known.

A *node* is a conjunction: the columns themselves are the nodes of level 1, and the children of a node are its products
with one more column, of a higher number (or the same, for powers): those of node n are starts[n] … starts[n + 1] − 1,
`columns` says which column each adds, ascending. A *hit* is a node in a row: `places` says where in the CSR its last
column stands, `ends` where its row ends; what may extend it stands between the two, the row's tail.

    learn      counts the columns in the tails of a node's rows, in an array, and keeps those seen often enough:
               Gustavson's product of sparse matrices, XᵀX, of which a row is in memory at a time
    extend     looks the columns of a tail up among the children: in a table that hits of one node share, where their
               tails are long enough to be worth filling it, otherwise by a search that gallops from one to the next
    scatter    does without nodes: a conjunction is added to the bucket that the hash of its columns names

Counts and sums are arrays, with the places in use in a bitset of two levels, which is drained in order. Whatever makes
something is called twice, to count it and to write it where it stays: in the time that the system takes to give a page
of memory, a page of conjunctions is counted several times. The work of a call is bounded by the tails given to it.

Groups are sets of columns, as bits: each column of a
conjunction must be of another group, so that by Hall's theorem any k of its columns must meet at least k groups.
Columns of no group never get here.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

from fastlin.engine.core.csr cimport real
from fastlin.engine.core.csr_view cimport CSRView

ctypedef fused index:
    int32_t
    int64_t

cdef extern from * nogil:
    """
    #define fastlin_bits(x) __builtin_popcountll(x)
    #define fastlin_lowest(x) __builtin_ctzll(x)
    """
    int fastlin_bits(uint64_t) noexcept
    int fastlin_lowest(uint64_t) noexcept

cdef enum:
    FILL = 8                 # a search costs as much as so many entries of a table


cdef inline bint allowed(uint64_t one, uint64_t two, uint64_t new, Py_ssize_t level) noexcept nogil:
    """May a column of the groups `new` join a conjunction of a column of `one`, or of one of these and one of `two`?"""
    if fastlin_bits(one | new) < 2:
        return False
    return level == 1 or (fastlin_bits(two | new) >= 2 and fastlin_bits(one | two | new) >= 3)


cdef inline int64_t flush_counts(int32_t* counts, uint64_t* bits, uint64_t* summary, Py_ssize_t words, int32_t cutoff,
                                 int32_t* columns) noexcept nogil:
    """Write the columns counted at least `cutoff` times, ascending; all counts and bits are zero again."""
    cdef int64_t q = 0
    cdef Py_ssize_t w, j
    cdef int32_t k
    cdef uint64_t above, below
    for w in range(words):
        above = summary[w]
        summary[w] = 0
        while above:
            j = w * 64 + fastlin_lowest(above)
            above &= above - 1
            below = bits[j]
            bits[j] = 0
            while below:
                k = <int32_t>(j * 64 + fastlin_lowest(below))
                below &= below - 1
                if counts[k] >= cutoff:
                    columns[q] = k
                    q += 1
                counts[k] = 0
    return q


def transpose(const int64_t[::1] indptr, const int32_t[::1] indices, Py_ssize_t start, Py_ssize_t stop,
              int64_t[::1] cursor, int64_t[::1] places, int64_t[::1] ends):
    """The hits of level 1 in the rows [start, stop), column by column; cursor[j] is where column j goes on."""
    cdef Py_ssize_t i
    cdef int64_t p, q
    with nogil:
        for i in range(start, stop):
            for p in range(indptr[i], indptr[i + 1]):
                q = cursor[indices[p]]
                cursor[indices[p]] = q + 1
                places[q] = p
                ends[q] = indptr[i + 1]


@cython.final
cdef class ConjunctionMatches:
    """Hits: where in the CSR the last column of each stands, where its row ends, and what their rows' columns are.

    A tail begins `skip` places behind a hit.
    """

    cdef const int32_t[::1] indices
    cdef const int64_t[::1] places, ends
    cdef int64_t skip

    def __cinit__(self, const int32_t[::1] indices, const int64_t[::1] places, const int64_t[::1] ends, int64_t skip):
        if places.shape[0] != ends.shape[0]:
            raise ValueError(f"{places.shape[0]} places do not fit {ends.shape[0]} ends")
        self.indices, self.places, self.ends, self.skip = indices, places, ends, skip


@cython.final
cdef class TailCounts:
    """How often each column was seen in the tails of a node, and the bits of those that were; all zeros between nodes.

    `groups` is empty, or holds those of each column. A column seen less often than `cutoff` is no child.
    """

    cdef int32_t[::1] counts
    cdef uint64_t[::1] bits, summary
    cdef const uint64_t[::1] groups
    cdef int32_t cutoff

    def __cinit__(self, int32_t[::1] counts, uint64_t[::1] bits, uint64_t[::1] summary, const uint64_t[::1] groups,
                  int32_t cutoff):
        if bits.shape[0] * 64 < counts.shape[0] or summary.shape[0] * 64 < bits.shape[0]:
            raise ValueError(f"{bits.shape[0]} words of bits do not fit {counts.shape[0]} columns")
        if groups.shape[0] not in (0, counts.shape[0]):
            raise ValueError(f"groups of {groups.shape[0]} columns do not fit {counts.shape[0]}")
        self.counts, self.bits, self.summary, self.groups, self.cutoff = counts, bits, summary, groups, cutoff


def learn(TailCounts counter not None, ConjunctionMatches matches not None, const int64_t[::1] bounds,
          Py_ssize_t node, int64_t start, int64_t stop, const uint64_t[::1] one, const uint64_t[::1] two,
          int64_t[::1] sizes, int32_t[::1] columns):
    """Count the tails of the hits [start, stop), which lie node by node between `bounds`, from `node` on.

    Of every node that ends among them, `sizes` tells how many children it has, `columns` their columns. Returns the
    first node that does not end, and how many columns were written. With groups, `one` and `two` hold those of each
    node's columns; `two` is empty on level 1. The counter carries a node on from call to call.
    """
    cdef const int32_t[::1] indices = matches.indices
    cdef const int64_t[::1] places = matches.places, ends = matches.ends
    cdef const uint64_t[::1] groups = counter.groups
    cdef int64_t h, p, q = 0, end, skip = matches.skip
    cdef Py_ssize_t nodes = bounds.shape[0] - 1, level = 2 if two.shape[0] else 1
    cdef int32_t k
    cdef bint grouped = groups.shape[0] > 0
    cdef uint64_t a = 0, b = 0
    cdef int32_t* counts = &counter.counts[0]
    cdef uint64_t* bits = &counter.bits[0]
    cdef uint64_t* summary = &counter.summary[0]
    with nogil:
        h = start
        while node < nodes:
            end = bounds[node + 1] if bounds[node + 1] < stop else stop
            if grouped:
                a = one[node]
                b = two[node] if level > 1 else 0
            while h < end:
                for p in range(places[h] + skip, ends[h]):
                    k = indices[p]
                    if grouped and not allowed(a, b, groups[k], level):
                        continue
                    if counts[k] == 0:
                        bits[k >> 6] |= <uint64_t>1 << (k & 63)
                        summary[k >> 12] |= <uint64_t>1 << ((k >> 6) & 63)
                    counts[k] += 1
                h += 1
            if bounds[node + 1] > stop:
                break
            sizes[node] = flush_counts(counts, bits, summary, counter.summary.shape[0], counter.cutoff, &columns[q])
            q += sizes[node]
            node += 1
    return node, q


cdef inline int64_t search(const int32_t* among, int64_t low, int64_t high, int32_t wanted) noexcept nogil:
    """The first place in [low, high) that is not below `wanted`, near `low` more often than not."""
    cdef int64_t step = 1, middle
    while low + step < high and among[low + step] < wanted:
        low += step
        step *= 2
    if low + step < high:
        high = low + step + 1
    while low < high:
        middle = (low + high) // 2
        if among[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@cython.final
cdef class NodeChildren:
    """The children of the nodes of a level: those of n are starts[n] … starts[n + 1] − 1, `columns` what each adds.

    `table` [V] has zeros between calls.
    """

    cdef const int64_t[::1] starts
    cdef const int32_t[::1] columns
    cdef int32_t[::1] table

    def __cinit__(self, const int64_t[::1] starts, const int32_t[::1] columns, int32_t[::1] table):
        if starts[starts.shape[0] - 1] != columns.shape[0]:
            raise ValueError(f"{columns.shape[0]} columns do not fit {starts[starts.shape[0] - 1]} children")
        self.starts, self.columns, self.table = starts, columns, table


def extend(ConjunctionMatches matches not None, NodeChildren children not None, const real[::1] values,
           const index[::1] nodes, const real[::1] products, const int64_t[::1] order, int64_t[::1] found,
           const int64_t[::1] slots, int64_t[::1] new_places, tuple out):
    """The children that the rows of some hits have: found[h] of hit h, from slots[h] on in `out`, nodes and products.

    Hit h is one of nodes[h] and comes to products[h]. Without slots, children are only counted; without new_places,
    their places are not asked for. `order` visits the hits of a node one after the other.
    """
    cdef int64_t t = 0, u, h, p, q, c, n, low, high, tail, hits = order.shape[0]
    cdef int32_t k
    cdef bint fill = slots.shape[0] > 0, placed = new_places.shape[0] > 0, tabled
    cdef const int32_t[::1] indices = matches.indices, columns = children.columns
    cdef const int64_t[::1] places = matches.places, ends = matches.ends, starts = children.starts
    cdef int32_t[::1] table = children.table
    cdef int64_t skip = matches.skip
    cdef index[::1] new_nodes
    cdef real[::1] new_products
    new_nodes, new_products = out
    with nogil:
        while t < hits:
            n = nodes[order[t]]
            low = starts[n]
            high = starts[n + 1]
            u = t
            tail = 0
            while u < hits and nodes[order[u]] == n:
                tail += ends[order[u]] - places[order[u]]
                u += 1
            tabled = FILL * tail > high - low
            if tabled:
                for c in range(low, high):
                    table[columns[c]] = <int32_t>(c - low + 1)
            while t < u:
                h = order[t]
                t += 1
                q = slots[h] if fill else 0
                n = q
                if tabled and not fill:
                    for p in range(places[h] + skip, ends[h]):
                        q += table[indices[p]] > 0
                elif tabled:
                    for p in range(places[h] + skip, ends[h]):
                        k = table[indices[p]]
                        if k:
                            if placed:
                                new_places[q] = p
                            new_nodes[q] = <index>(low + k - 1)
                            new_products[q] = products[h] * values[p]
                            q += 1
                else:
                    c = low
                    for p in range(places[h] + skip, ends[h]):
                        c = search(&columns[0], c, high, indices[p])
                        if c == high:
                            break
                        if columns[c] == indices[p]:
                            if fill:
                                if placed:
                                    new_places[q] = p
                                new_nodes[q] = <index>c
                                new_products[q] = products[h] * values[p]
                            q += 1
                found[h] = q - n
            if tabled:
                for c in range(low, high):
                    table[columns[c]] = 0


cdef inline uint64_t mix(uint64_t h, uint64_t k) noexcept nogil:
    """One more column in a hash: the last steps of Steele, Lea & Flood's SplitMix64."""
    h = (h ^ k) + 0x9E3779B97F4A7C15ULL
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ULL
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBULL
    return h ^ (h >> 31)


cdef inline int64_t append(uint64_t code, real x, uint64_t n_buckets, bint signs, int32_t* buckets, real* values,
                           int64_t n, int64_t room) noexcept nogil:
    """Write the bucket of a hash, and ±x, behind n others, if there is room; n + 1."""
    if n < room:
        buckets[n] = <int32_t>(((code >> 32) * n_buckets) >> 32)
        values[n] = -x if signs and code & 1 else x
    return n + 1


cdef inline void collect(uint64_t code, real x, uint64_t n_buckets, bint signs, real* sums, uint64_t* bits,
                         uint64_t* summary) noexcept nogil:
    """Add x to the bucket of a hash."""
    cdef uint64_t bucket = ((code >> 32) * n_buckets) >> 32
    sums[bucket] += -x if signs and code & 1 else x
    bits[bucket >> 6] |= <uint64_t>1 << (bucket & 63)
    summary[bucket >> 12] |= <uint64_t>1 << ((bucket >> 6) & 63)


cdef inline int64_t flush_sums(real* sums, uint64_t* bits, uint64_t* summary, Py_ssize_t words, int32_t* buckets,
                               real* values) noexcept nogil:
    """Write the buckets that hold something, ascending, unless `buckets` is NULL; all is zero again."""
    cdef int64_t q = 0
    cdef Py_ssize_t w, j
    cdef int32_t k
    cdef uint64_t above, below
    for w in range(words):
        above = summary[w]
        summary[w] = 0
        while above:
            j = w * 64 + fastlin_lowest(above)
            above &= above - 1
            below = bits[j]
            bits[j] = 0
            while below:
                k = <int32_t>(j * 64 + fastlin_lowest(below))
                below &= below - 1
                if buckets != NULL:
                    buckets[q] = k
                    values[q] = sums[k]
                sums[k] = 0
                q += 1
    return q


@cython.final
cdef class HashedConjunctions:
    """Buckets of products: how deep these are, of which groups of columns, whether signs of hashes count.

    `sums`, `bits` and `summary` are zeros between rows, one for each bucket; without them products are listed, not
    added up. A product's next column stands at least `skip` places behind its last.
    """

    cdef int64_t skip, n_buckets
    cdef Py_ssize_t depth
    cdef bint signs
    cdef const uint64_t[::1] groups
    cdef object sums
    cdef uint64_t[::1] bits, summary

    def __cinit__(self, int64_t skip, Py_ssize_t depth, const uint64_t[::1] groups, int64_t n_buckets, bint signs,
                  sums, uint64_t[::1] bits, uint64_t[::1] summary):
        if len(sums) and not (len(sums) == n_buckets and bits.shape[0] * 64 >= n_buckets
                              and summary.shape[0] * 64 >= bits.shape[0]):
            raise ValueError(f"sums of {len(sums)} buckets do not fit {n_buckets}")
        self.skip, self.depth, self.groups, self.n_buckets, self.signs = skip, depth, groups, n_buckets, signs
        self.sums, self.bits, self.summary = sums, bits, summary


def scatter(HashedConjunctions task not None, CSRView data not None, Py_ssize_t row, int64_t start, int64_t stop,
            int64_t[::1] sizes, int32_t[::1] buckets, out):
    """Add up the products whose first columns stand at [start, stop), from `row` on, in buckets.

    Of every row that ends among them, `sizes` tells how many buckets hold something, `buckets` and `out` which and
    what, where there is room. Returns the first row that does not end, and how many buckets were met. The task carries
    a row on from call to call.

    Where it has no sums nothing is added up: `sizes` grows by how many products a row has, and `buckets` and `out` get
    all of them.
    """
    if sizes.shape[0] != data.stop or len(out) != buckets.shape[0]:
        raise ValueError(f"{sizes.shape[0]} sizes, or {len(out)} sums of {buckets.shape[0]} buckets, do not fit")
    if data.single:
        return scatter_rows[float](task, data, <const float*>data.values, task.sums, row, start, stop, sizes, buckets,
                                   out)
    return scatter_rows[double](task, data, <const double*>data.values, task.sums, row, start, stop, sizes, buckets,
                                out)


cdef tuple scatter_rows(HashedConjunctions task, CSRView data, const real* values, real[::1] sums, Py_ssize_t row,
                        int64_t start, int64_t stop, int64_t[::1] sizes, int32_t[::1] buckets, real[::1] out):
    """`scatter` of values of a type."""
    cdef const int64_t* indptr = data.indptr
    cdef const int32_t* indices = data.indices
    cdef uint64_t[::1] bits = task.bits, summary = task.summary
    cdef const uint64_t[::1] groups = task.groups
    cdef int64_t skip = task.skip, n_buckets = task.n_buckets
    cdef Py_ssize_t depth = task.depth
    cdef bint signs = task.signs
    cdef int64_t p = start, q, r, last, end, first, met = 0, space = buckets.shape[0]
    cdef bint listed = bits.shape[0] == 0
    cdef real* table = NULL if listed else &sums[0]
    cdef uint64_t* marks = NULL if listed else &bits[0]
    cdef uint64_t* words = NULL if listed else &summary[0]
    cdef int32_t* to_buckets = &buckets[0] if space else NULL
    cdef real* to_out = &out[0] if space else NULL
    cdef Py_ssize_t rows = data.stop
    cdef uint64_t one, two, a = 0, b = 0
    cdef real x
    cdef bint grouped = groups.shape[0] > 0, fill
    with nogil:
        while row < rows:
            end = indptr[row + 1]
            last = end if end < stop else stop
            first = met
            while p < last:
                one = mix(0, <uint64_t>indices[p])
                if grouped:
                    a = groups[indices[p]]
                for q in range(p + skip, end):
                    if grouped:
                        b = groups[indices[q]]
                        if not allowed(a, 0, b, 1):
                            continue
                    two = mix(one, <uint64_t>indices[q])
                    x = values[p] * values[q]
                    if listed:
                        met = append(two, x, <uint64_t>n_buckets, signs, to_buckets, to_out, met, space)
                    else:
                        collect(two, x, <uint64_t>n_buckets, signs, table, marks, words)
                    if depth == 3:
                        for r in range(q + skip, end):
                            if grouped and not allowed(a, b, groups[indices[r]], 2):
                                continue
                            if listed:
                                met = append(mix(two, <uint64_t>indices[r]), x * values[r], <uint64_t>n_buckets, signs,
                                             to_buckets, to_out, met, space)
                            else:
                                collect(mix(two, <uint64_t>indices[r]), x * values[r], <uint64_t>n_buckets, signs,
                                        table, marks, words)
                p += 1
            if listed:
                sizes[row] += met - first
            if end > stop:
                break
            if not listed:
                fill = met < space
                sizes[row] = flush_sums(table, marks, words, summary.shape[0], to_buckets + met if fill else NULL,
                                        to_out + met if fill else NULL)
                met += sizes[row]
            row += 1
    return row, met
