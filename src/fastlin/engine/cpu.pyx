"""Which builds of the kernels this processor can run."""

cdef extern from *:
    """
    #if defined(__clang__)  /* which knows fewer names; what has AVX2 and BMI2 has the others */
    #define FASTLIN_V3_REST() 1
    #else
    #define FASTLIN_V3_REST() \\
        (__builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe"))
    #endif
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
    static int fastlin_x86_level(void)
    {
        __builtin_cpu_init();
        if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
              && __builtin_cpu_supports("bmi2") && FASTLIN_V3_REST()))
            return 1;
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
               && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
               && __builtin_cpu_supports("avx512vl") ? 4 : 3;
    }
    #else
    static int fastlin_x86_level(void) { return 1; }
    #endif
    """
    int fastlin_x86_level() noexcept nogil


def x86_level():
    """1, 3 or 4: the level of x86-64 that processor and operating system support; 1 elsewhere."""
    return fastlin_x86_level()
