// Batched symmetric eigendecomposition for spdnorm.linalg.eigh.
#include "eigh.hpp"

#include <algorithm>
#include <atomic>

#include "parallel.hpp"

// x (count, n, n) -> values (count, n), ascending, and vectors (count, n, n), one in each column. The number of groups of
// matrices in which one did not converge.
template <class T> int64_t decompose(const T* x, int64_t count, int n, T* values, T* vectors, int threads) {
    typedef Vector<T> V;
    int64_t groups = (count + LANES<T> - 1) / LANES<T>;
    std::atomic<int64_t> failures{0};
    parallel(groups, threads, [&](int, int64_t begin, int64_t end) {
        Scratch scratch(sizeof(V) * size_t(2 * n * n + n + eigh_scratch<T>(n)) + sizeof(int) * size_t(n));
        V* a = scratch.as<V>();
        V *z = a + n * n, *d = z + n * n, *work = d + n;
        int* order = reinterpret_cast<int*>(work + eigh_scratch<T>(n));
        for (int64_t group = begin; group < end; ++group) {
            int64_t first = group * LANES<T>;
            load<T>(a, x, first, count, int64_t(n) * n, n * n);
            if (!eigh<T>(a, z, d, work, n)) {
                ++failures;
                continue;
            }
            int valid = int(std::min<int64_t>(count - first, LANES<T>));
            for (int lane = 0; lane < valid; ++lane) {
                for (int i = 0; i < n; ++i) order[i] = i;
                std::sort(order, order + n, [&](int i, int j) { return d[i][lane] < d[j][lane]; });
                T* own = values + (first + lane) * n;
                T* matrix = vectors + (first + lane) * n * n;
                for (int i = 0; i < n; ++i) own[i] = d[order[i]][lane];
                for (int i = 0; i < n; ++i)
                    for (int j = 0; j < n; ++j) matrix[i * n + j] = z[i * n + order[j]][lane];
            }
        }
    });
    return failures;
}

extern "C" {
int64_t eigh_float64(const double* x, int64_t count, int n, double* values, double* vectors, int threads) {
    return decompose<double>(x, count, n, values, vectors, threads);
}
int64_t eigh_float32(const float* x, int64_t count, int n, float* values, float* vectors, int threads) {
    return decompose<float>(x, count, n, values, vectors, threads);
}
}
