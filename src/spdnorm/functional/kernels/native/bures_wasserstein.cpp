// Bures-Wasserstein batch normalisation for spdnorm.functional.kernels.native.
#include "backward.hpp"
#include "running.hpp"

#define EXPORT(T, NAME)                                                                                                \
    extern "C" int lanes_##NAME() { return LANES<T>; }                                                                 \
    extern "C" int64_t state_size_##NAME(int n) { return State<T>::size(n); }                                          \
    extern "C" int statistics_##NAME(const Problem<T>* given, const Kept<T>* kept, const Results<T>* results) {        \
        return statistics(*given, *kept, *results);                                                                    \
    }                                                                                                                  \
    extern "C" int samples_##NAME(const Problem<T>* given, const Kept<T>* kept, const Results<T>* results) {           \
        return samples(*given, *kept, results->out);                                                                   \
    }                                                                                                                  \
    extern "C" void gradients_##NAME(const Problem<T>* given, const Kept<T>* kept, const Gradients<T>* wanted) {       \
        gradients(*given, *kept, *wanted);                                                                             \
    }                                                                                                                  \
    extern "C" int towards_##NAME(T* to, const T* a, const T* values, const T* basis, double t, int n) {               \
        return !towards<T>(to, a, values, basis, T(t), n);                                                             \
    }

EXPORT(double, float64)
EXPORT(float, float32)

extern "C" void use_threads_of(void* fork, void* index, void* count) { use_runtime(fork, index, count); }
