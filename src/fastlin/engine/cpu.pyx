"""What the kernels need to know of the machine: its instruction set, its pages."""

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    static int fastlin_x86_level(void)
    {
        __builtin_cpu_init();
        if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
              && __builtin_cpu_supports("bmi2")))
            return 1;
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
               && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") ? 4 : 3;
    }
    #else
    static int fastlin_x86_level(void) { return 1; }
    #endif
    #ifdef __linux__
    #include <stdint.h>
    #include <sys/mman.h>
    static void fastlin_huge_pages(char *start, size_t size)
    {
        const uintptr_t page = 4096, first = ((uintptr_t)start + page - 1) & ~(page - 1);
        const uintptr_t last = ((uintptr_t)start + size) & ~(page - 1);
        if (last > first)
            madvise((void *)first, last - first, MADV_HUGEPAGE);
    }
    #else
    static void fastlin_huge_pages(char *start, size_t size) { (void)start; (void)size; }
    #endif
    """
    int fastlin_x86_level() noexcept nogil
    void fastlin_huge_pages(char*, size_t) noexcept nogil


def x86_level():
    """1, 3 or 4: the level of x86-64 that processor and operating system support; 1 elsewhere."""
    return fastlin_x86_level()


def prefer_huge_pages(unsigned char[::1] memory):
    """Ask for huge pages before the memory is first touched: a random walk over weights is then not one over page tables.

    On the Zipfian set of the benchmarks an epoch takes half the time. Advice only: the system may decline.
    """
    if memory.shape[0]:
        fastlin_huge_pages(<char*>&memory[0], memory.shape[0])
