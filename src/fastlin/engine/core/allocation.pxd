"""Memory for so many items of a size, whose product is proved: what no memory can hold is NULL, and never wraps."""

from libc.stdint cimport INT64_MAX, int64_t
from libc.stdlib cimport calloc, malloc, realloc


cdef inline int64_t checked_product(int64_t a, int64_t b) noexcept nogil:
    """a · b of numbers that are not negative; INT64_MAX where that is more."""
    return INT64_MAX if a > 0 and b > INT64_MAX // a else a * b


cdef inline bint fits_in_memory(int64_t count, size_t size) noexcept nogil:
    """Whether there can be memory for so many items."""
    return 0 <= count <= INT64_MAX // <int64_t>size


cdef inline void* allocate(int64_t count, size_t size) noexcept nogil:
    """Memory for so many items, for one at least; NULL: there is none."""
    return malloc(<size_t>max(count, 1) * size) if fits_in_memory(count, size) else NULL


cdef inline void* allocate_zeros(int64_t count, size_t size) noexcept nogil:
    """Zeroed memory for so many items, for one at least; NULL: there is none."""
    return calloc(<size_t>max(count, 1), size) if fits_in_memory(count, size) else NULL


cdef inline void* reallocate(void* memory, int64_t count, size_t size) noexcept nogil:
    """Move items to memory for so many; NULL: there is none, and they stay where they are."""
    return realloc(memory, <size_t>max(count, 1) * size) if fits_in_memory(count, size) else NULL
