// The running mean's step along the Bures-Wasserstein geodesic (paper, Eq. (mean_compute1)).
#pragma once

#include "shared.hpp"
#include "svd.hpp"

// The lower factor F of A = F F^T; false where A is not positive definite beyond rounding.
template <class T> bool cholesky(T* f, const T* a, int n) {
    T largest = 0;
    for (int i = 0; i < n; ++i) largest = std::max(largest, a[i * n + i]);
    const T least = largest * (T(n) * Lane<T>::EPS);
    std::fill(f, f + n * n, T(0));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            T value = a[i * n + j];
            for (int k = 0; k < j; ++k) value -= f[i * n + k] * f[j * n + k];
            if (i != j)
                f[i * n + j] = value / f[j * n + j];
            else if (value > least)
                f[i * n + i] = std::sqrt(value);
            else
                return false;
        }
    return true;
}

// F with F F^T = A, from the eigendecomposition where A is singular. False where that does not converge.
template <class T> bool factor(T* f, const T* a, int n) {
    if (cholesky(f, a, n)) return true;
    Scratch memory(sizeof(T) * size_t(n * n + 3 * n));
    T* basis = memory.as<T>();
    Decomposed<T> found{basis + n * n, basis, basis + n * n + n, basis + n * n + 2 * n};
    if (!decompose_shared(found, a, n, false)) return false;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) f[i * n + j] = found.basis[i * n + j] * found.root[j];
    return true;
}

// The orthogonal factor O of W = O H from singular values, in one lane. False where W is singular to working precision.
template <class T> bool orthogonal_factor(T* o, const T* w, int n) {
    typedef Vector<T> V;
    Scratch scratch(sizeof(V) * size_t(3 * n * n + n + svd_scratch<T>(n)));
    V* a = scratch.as<V>();
    V *left = a + n * n, *right = left + n * n, *sigma = right + n * n, *work = sigma + n;
    for (int i = 0; i < n * n; ++i) a[i] = all<T>(w[i]);
    if (!svd<T>(a, left, sigma, right, work, n)) return false;
    std::fill(o, o + n * n, T(0));
    for (int k = 0; k < n; ++k)
        for (int i = 0; i < n; ++i) {
            const T value = left[k * n + i][0];
            for (int j = 0; j < n; ++j) o[i * n + j] += value * right[k * n + j][0];
        }
    return true;
}

// The point at t of the geodesic from A to B = V b V^T: W W^T, W = (1 - t) F + t R O with A = F F^T, B = R R^T and O the
// orthogonal factor of R^T F. False where that has none of its own, or an iteration does not converge.
template <class T> bool towards(T* to, const T* a, const T* values, const T* basis, T t, int n) {
    Room<T> room(5, n);
    T *f = room[0], *r = room[1], *k = room[2], *w = room[3], *free = room[4];
    if (!factor(f, a, n)) return false;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) r[i * n + j] = basis[i * n + j] * std::sqrt(std::max(values[j], T(0)));
    transpose(free, r, n);
    multiply(k, free, f, n);
    if (!orthogonal_factor(w, k, n)) return false;
    multiply(k, r, w, n);
    for (int i = 0; i < n * n; ++i) w[i] = (1 - t) * f[i] + t * k[i];
    transpose(free, w, n);
    multiply(to, w, free, n);
    symmetrise(to, n);
    return true;
}
