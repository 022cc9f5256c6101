// Bures-Wasserstein batch normalisation for spdnorm.functional.kernels.native.
#include "backward.hpp"
#include "running.hpp"

extern "C" int64_t kept_size(int n, int own_mean) { return kept_elements(n, own_mean != 0); }
extern "C" int64_t fold_size(int n) { return fold_elements(n); }
extern "C" void use_threads_of(void* fork, void* index, void* count) { use_runtime(fork, index, count); }

#define EXPORT(T, NAME)                                                                                                \
    extern "C" int64_t lanes_##NAME() { return LANES<T>; }                                                             \
    extern "C" int64_t state_size_##NAME(int n) { return State<T>::size(n); }                                          \
    extern "C" int64_t statistics_##NAME(const Problem<T>* given, const Memory<T>* kept, const Results<T>* results) {  \
        return statistics(*given, Kept<T>(*kept, *given), *results);                                                   \
    }                                                                                                                  \
    extern "C" int64_t samples_##NAME(const Problem<T>* given, const Memory<T>* kept, const Results<T>* results) {     \
        return samples(*given, Kept<T>(*kept, *given), results->out);                                                  \
    }                                                                                                                  \
    extern "C" int64_t gradients_##NAME(const Problem<T>* given, const Memory<T>* kept, const Gradients<T>* wanted) {  \
        gradients(*given, Kept<T>(*kept, *given), *wanted);                                                            \
        return 0;                                                                                                      \
    }                                                                                                                  \
    extern "C" int64_t towards_##NAME(T* to, const T* a, const T* values, const T* basis, double t, int n) {           \
        return !towards<T>(to, a, values, basis, T(t), n);                                                             \
    }

EXPORT(double, float64)
EXPORT(float, float32)
