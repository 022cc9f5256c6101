// The running mean's step along the Bures-Wasserstein geodesic (paper, Eq. (mean_compute1)).
#pragma once

#include "shared.hpp"

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

// Rows of `a` are made orthogonal by rotations from the left, which `v` collects: one-sided Jacobi (Hestenes 1958). It
// keeps the small singular directions that a product A^T A would drown.
template <class T> bool orthogonalise(T* a, T* v, int n) {
    std::fill(v, v + n * n, T(0));
    for (int i = 0; i < n; ++i) v[i * n + i] = 1;
    for (int sweep = 0; sweep < 60; ++sweep) {
        bool rotated = false;
        for (int p = 0; p < n - 1; ++p)
            for (int q = p + 1; q < n; ++q) {
                T *x = a + p * n, *y = a + q * n, alpha = 0, beta = 0, gamma = 0;
                for (int i = 0; i < n; ++i) {
                    alpha += x[i] * x[i];
                    beta += y[i] * y[i];
                    gamma += x[i] * y[i];
                }
                if (!(std::abs(gamma) > 4 * Lane<T>::EPS * std::sqrt(alpha) * std::sqrt(beta))) continue;
                rotated = true;
                const T zeta = (beta - alpha) / (2 * gamma);
                const T tangent = (zeta < 0 ? T(-1) : T(1)) / (std::abs(zeta) + std::hypot(T(1), zeta));
                const T c = 1 / std::hypot(T(1), tangent), s = c * tangent;
                T *left = v + p * n, *right = v + q * n;
                for (int i = 0; i < n; ++i) {
                    const T moved = c * x[i] - s * y[i], turned = c * left[i] - s * right[i];
                    y[i] = s * x[i] + c * y[i];
                    x[i] = moved;
                    right[i] = s * left[i] + c * right[i];
                    left[i] = turned;
                }
            }
        if (!rotated) return true;
    }
    return false;
}

template <class T> T normalise_row(T* row, int n) {
    T length = 0;
    for (int i = 0; i < n; ++i) length += row[i] * row[i];
    length = std::sqrt(length);
    for (int i = 0; i < n; ++i) row[i] = length > 0 ? row[i] / length : T(0);
    return length;
}

// A unit vector orthogonal to all rows of `u` (of which `row` is zero): what is left of some axis, taken twice to be clean.
template <class T> void fill_row(T* row, const T* u, int n) {
    Scratch memory(sizeof(T) * size_t(n));
    T* candidate = memory.as<T>();
    for (int axis = 0; axis < n; ++axis) {
        std::fill(candidate, candidate + n, T(0));
        candidate[axis] = 1;
        T left = 1;
        for (int pass = 0; pass < 2; ++pass) {
            for (int q = 0; q < n; ++q) {
                T along = 0;
                for (int i = 0; i < n; ++i) along += u[q * n + i] * candidate[i];
                for (int i = 0; i < n; ++i) candidate[i] -= along * u[q * n + i];
            }
            left = std::min(left, normalise_row(candidate, n));
        }
        // Of n axes one at least keeps this much.
        if (left >= T(0.5) / std::sqrt(T(n))) break;
    }
    std::copy(candidate, candidate + n, row);
}

// Rows of unit length; those that vanish are replaced, so that all of them are orthonormal.
template <class T> void complete(T* u, int n) {
    for (int p = 0; p < n; ++p) normalise_row(u + p * n, n);
    for (int p = 0; p < n; ++p)
        if (std::all_of(u + p * n, u + p * n + n, [](T value) { return value == 0; })) fill_row(u + p * n, u, n);
}

// The point at t of the geodesic from A to B = V b V^T: W W^T, W = (1 - t) F + t R O with A = F F^T, B = R R^T and O the
// orthogonal factor of R^T F = O H. False where an iteration does not converge.
template <class T> bool towards(T* to, const T* a, const T* values, const T* basis, T t, int n) {
    Room<T> room(6, n);
    T *f = room[0], *r = room[1], *k = room[2], *v = room[3], *w = room[4], *free = room[5];
    if (!factor(f, a, n)) return false;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) r[i * n + j] = basis[i * n + j] * std::sqrt(std::max(values[j], T(0)));
    // Rows of K^T = F^T R: V K^T has orthogonal rows, so that K^T = V^T S U and O = U^T V.
    transpose(free, f, n);
    multiply(k, free, r, n);
    T largest = 0;
    for (int i = 0; i < n * n; ++i) largest = std::max(largest, std::abs(k[i]));
    if (largest > 0)
        for (int i = 0; i < n * n; ++i) k[i] /= largest;
    if (!orthogonalise(k, v, n)) return false;
    complete(k, n);
    transpose(free, k, n);
    multiply(w, free, v, n);
    multiply(k, r, w, n);
    for (int i = 0; i < n * n; ++i) w[i] = (1 - t) * f[i] + t * k[i];
    transpose(free, w, n);
    multiply(to, w, free, n);
    symmetrise(to, n);
    return true;
}
