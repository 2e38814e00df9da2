cpdef int look() except -1
