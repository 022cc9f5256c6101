// What all samples share: decompositions of n x n matrices and derivatives of their functions.
#pragma once

#include <algorithm>
#include <cmath>

#include "dense.hpp"
#include "eigh.hpp"

// Eigenvalues, eigenvectors (columns), roots and inverse roots of one matrix.
template <class T> struct Decomposed {
    T *values, *basis, *root, *inverse;
    bool null(int i) const { return inverse[i] == 0; }
};

// See roots_of in spdnorm.functional.kernels.bw_products. Ascending; false where it does not converge.
template <class T> bool decompose_shared(Decomposed<T> to, const T* matrix, int n, bool definite) {
    typedef Vector<T> V;
    Scratch scratch(sizeof(V) * size_t(2 * n * n + n + eigh_scratch<T>(n)) + sizeof(int) * size_t(n));
    V *a = scratch.as<V>(), *z = a + n * n, *d = z + n * n, *work = d + n;
    int* order = reinterpret_cast<int*>(work + eigh_scratch<T>(n));
    for (int i = 0; i < n * n; ++i) a[i] = all<T>(matrix[i]);
    bool converged = eigh<T>(a, z, d, work, n);
    for (int i = 0; i < n; ++i) order[i] = i;
    std::sort(order, order + n, [&](int i, int j) { return d[i][0] < d[j][0]; });
    for (int j = 0; j < n; ++j) {
        to.values[j] = d[order[j]][0];
        for (int i = 0; i < n; ++i) to.basis[i * n + j] = z[i * n + order[j]][0];
    }
    const T threshold = to.values[n - 1] * (T(n) * Lane<T>::EPS);
    for (int i = 0; i < n; ++i) {
        if (definite && to.values[i] < threshold) to.values[i] = threshold;
        to.root[i] = std::sqrt(std::max(to.values[i], T(0)));
        to.inverse[i] = definite || to.values[i] > threshold ? T(1) / to.root[i] : T(0);
    }
    return converged;
}

// P = diag(root) V^T K.
template <class T> void pulling(T* p, const Decomposed<T>& at, const T* k, int n) {
    Room<T> room(1, n);
    T* own = k == nullptr ? p : room[0];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) own[i * n + j] = at.root[i] * at.basis[j * n + i];
    if (k != nullptr) multiply(p, own, k, n);
}

// sqrt((l_i + l_j) / 2)
template <class T> inline T half_sum_root(const T* values, int i, int j) {
    return std::sqrt(std::max(T(0.5) * (values[i] + values[j]), T(0)));
}

// Elements of the Loewner matrices of the root and of the inverse root.
template <class T> inline T root_quotient(const Decomposed<T>& at, int i, int j) {
    return at.null(i) && at.null(j) ? T(0) : T(1) / (at.root[i] + at.root[j]);
}
template <class T> inline T inverse_root_quotient(const Decomposed<T>& at, int i, int j) {
    const T both = at.inverse[i] * at.inverse[j];
    if (both > 0) return -both * root_quotient(at, i, j);
    // Where one of the two is in the null space the quotient is (high^-1/2 - 0) / (high - 0).
    const T one = at.inverse[i] + at.inverse[j];
    return one * one * one;
}

// Gradient in X, in its eigenbasis, of the operator (x_i + x_j)^(1/2), or ^(-1/2), from the P_jik of `outer`.
template <class T> void sum_gradient(T* to, const T* products, const T* values, bool inverse, int n) {
    Room<T> room(2, n);
    T *root = room[0], *inverse_root = room[1];
    T largest = 0;
    for (int i = 0; i < n; ++i) largest = std::max(largest, std::abs(values[i]));
    const T floor = 2 * T(n) * Lane<T>::EPS * largest;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const T total = values[i] + values[j];
            root[i * n + j] = total > floor ? std::sqrt(total) : T(0);
            inverse_root[i * n + j] = total > floor ? T(1) / root[i * n + j] : T(0);
        }
    for (int i = 0; i < n * n; ++i) to[i] = 0;
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            const T* from = products + (int64_t(j) * n + i) * n;
            const T own = root[j * n + i], own_inverse = inverse_root[j * n + i];
            for (int k = 0; k < n; ++k) {
                const T both = own + root[j * n + k];
                T quotient = both > 0 ? T(1) / both : T(0);
                if (inverse) quotient *= -own_inverse * inverse_root[j * n + k];
                to[i * n + k] += quotient * from[k];
            }
        }
    for (int i = 0; i < n; ++i)
        for (int k = 0; k <= i; ++k) to[i * n + k] = to[k * n + i] = to[i * n + k] + to[k * n + i];
}
