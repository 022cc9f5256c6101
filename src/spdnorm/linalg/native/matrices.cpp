// Batched symmetric eigendecompositions, exponentials of a few matrices, and the one look that input checks take.
#include "eigh.hpp"

#include <algorithm>
#include <atomic>

#include "exponentials.hpp"
#include "parallel.hpp"
#include "svd.hpp"

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

// w (count, n, n) -> left vectors (columns), singular values, descending, and right vectors (columns). The number of groups
// of matrices in which one is singular or did not converge.
template <class T>
int64_t singular_values(const T* w, int64_t count, int n, T* left, T* values, T* right, int threads) {
    typedef Vector<T> V;
    int64_t groups = (count + LANES<T> - 1) / LANES<T>;
    std::atomic<int64_t> failures{0};
    parallel(groups, threads, [&](int, int64_t begin, int64_t end) {
        Scratch scratch(sizeof(V) * size_t(3 * n * n + n + svd_scratch<T>(n)) + sizeof(int) * size_t(n));
        V* a = scratch.as<V>();
        V *u = a + n * n, *v = u + n * n, *sigma = v + n * n, *work = sigma + n;
        int* order = reinterpret_cast<int*>(work + svd_scratch<T>(n));
        for (int64_t group = begin; group < end; ++group) {
            int64_t first = group * LANES<T>;
            load<T>(a, w, first, count, int64_t(n) * n, n * n);
            if (!svd<T>(a, u, sigma, v, work, n)) {
                ++failures;
                continue;
            }
            int valid = int(std::min<int64_t>(count - first, LANES<T>));
            for (int lane = 0; lane < valid; ++lane) {
                for (int i = 0; i < n; ++i) order[i] = i;
                std::sort(order, order + n, [&](int i, int j) { return sigma[i][lane] > sigma[j][lane]; });
                const int64_t at = (first + lane) * n;
                for (int j = 0; j < n; ++j) {
                    values[at + j] = sigma[order[j]][lane];
                    for (int i = 0; i < n; ++i) {
                        left[(at + i) * n + j] = u[order[j] * n + i][lane];
                        right[(at + i) * n + j] = v[order[j] * n + i][lane];
                    }
                }
            }
        }
    });
    return failures;
}

// The largest |x| and the largest |X - X^T| of x (count, n, n); infinity where a number is not finite.
template <class T> void extent_of(const T* x, int64_t begin, int64_t end, int n, T* found) {
    T size = 0, skew = 0, unusual = 0;
    for (int64_t s = begin; s < end; ++s) {
        const T* a = x + s * n * n;
        for (int i = 0; i < n * n; ++i) {
            const T value = std::abs(a[i]);
            size = value > size ? value : size;
            // 0, and NaN for infinity and NaN.
            unusual += a[i] - a[i];
        }
        for (int i = 1; i < n; ++i)
            for (int j = 0; j < i; ++j) {
                const T difference = std::abs(a[i * n + j] - a[j * n + i]);
                skew = difference > skew ? difference : skew;
            }
    }
    found[0] = unusual == 0 ? size : T(__builtin_huge_val());
    found[1] = skew;
}
template <class T> void extent(const T* x, int64_t count, int n, T* found, int threads) {
    std::vector<T> parts(size_t(2 * threads), T(0));
    parallel(count, threads, [&](int t, int64_t begin, int64_t end) { extent_of(x, begin, end, n, &parts[size_t(2 * t)]); });
    found[0] = found[1] = 0;
    for (size_t i = 0; i < parts.size(); ++i) found[i % 2] = std::max(found[i % 2], parts[i]);
}

#define EXPORT(T, NAME)                                                                                                       \
    extern "C" int64_t eigh_##NAME(const T* x, int64_t count, int n, T* values, T* vectors, int threads) {                    \
        return decompose<T>(x, count, n, values, vectors, threads);                                                           \
    }                                                                                                                         \
    extern "C" int64_t svd_##NAME(const T* w, int64_t count, int n, T* left, T* values, T* right, int threads) {              \
        return singular_values<T>(w, count, n, left, values, right, threads);                                                 \
    }                                                                                                                         \
    extern "C" void extent_##NAME(const T* x, int64_t count, int n, T* found, int threads) {                                  \
        extent<T>(x, count, n, found, threads);                                                                               \
    }                                                                                                                         \
    extern "C" void exponentials_##NAME(int count, int n, const Term* terms, int number, T* values, const T* vectors,         \
                                        T* out) {                                                                             \
        exponentials<T>(count, n, terms, number, values, vectors, out);                                                       \
    }                                                                                                                         \
    extern "C" void exponentials_adjoint_##NAME(int count, int n, const Term* terms, int number, const T* values,             \
                                                const T* vectors, const T* const* grads, T* of_s) {                           \
        exponentials_adjoint<T>(count, n, terms, number, values, vectors, grads, of_s);                                       \
    }

EXPORT(double, float64)
EXPORT(float, float32)

extern "C" void use_threads_of(void* fork, void* index, void* count) { use_runtime(fork, index, count); }
