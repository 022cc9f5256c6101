// The two folds of the composition, psi(E), on the lanes that fold (spdnorm.functional.kernels.bw_fold has the formula).
#pragma once

#include "eigh.hpp"
#include "products.hpp"

// For each group the eigenvectors (n n) and eigenvalues (n) of E and which of its lanes fold: 1 or 0. No basis: none folds.
template <class T> struct Fold {
    Vector<T>*basis, *values, *folds;
    Fold at(int64_t group, int n) const { return {basis + group * n * n, values + group * n, folds + group}; }
};

// Lanes in which I + t E is not positive definite, by a Cholesky factorisation into `l`.
template <class T> Mask<T> indefinite(const Vector<T>* e, T t, Vector<T>* l, int n) {
    typedef Vector<T> V;
    Mask<T> bad{};
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            V value = t * e[i * n + j];
            if (i == j) value += T(1);
            for (int k = 0; k < j; ++k) value -= l[i * n + k] * l[j * n + k];
            if (i == j) {
                auto good = value > T(0);
                bad |= ~(Mask<T>)good;
                l[i * n + i] = T(1) / square_root<T>(good ? value : all<T>(1));
            } else {
                l[i * n + j] = value * l[j * n + j];
            }
        }
    }
    return bad;
}

// S = mask o rotated + diag(diagonal).
template <class T>
inline void step(Vector<T>* s, const Vector<T>* rotated, const T* mask, const T* diagonal, int n) {
    for (int i = 0; i < n * n; ++i) s[i] = rotated[i] * mask[i];
    for (int i = 0; i < n; ++i) s[i * n + i] += diagonal[i];
}

// psi of E into `out`; false where a decomposition does not converge.
template <class T>
bool fold_forward(Vector<T>* out, const Vector<T>* e, T f, Fold<T> fold, Vector<T>* first, Vector<T>* second, Vector<T>* work, int n) {
    typedef Vector<T> V;
    const int square = n * n;
    Mask<T> bad = indefinite<T>(e, f > T(1) ? f : T(1), first, n);
    if (f < T(0)) bad |= indefinite<T>(e, f, first, n);
    *fold.folds = bad ? all<T>(1) : V{};
    for (int i = 0; i < square; ++i) out[i] = e[i];
    if (!any<T>(bad)) return true;
    for (int i = 0; i < square; ++i) first[i] = e[i];
    bool converged = eigh<T>(first, fold.basis, fold.values, work, n);
    for (int j = 0; j < n; ++j) {
        V value = fold.values[j];
        V r = value >= T(-1) ? value : T(-2) - value;
        V psi = T(1) + f * r >= T(0) ? r : -r - T(2) / f;
        for (int i = 0; i < n; ++i) first[i * n + j] = fold.basis[i * n + j] * psi;
    }
    product<T>(second, n, Own<T>{first, n}, OwnTransposed<T>{fold.basis, n}, Part::symmetric);
    for (int i = 0; i < square; ++i) out[i] = bad ? second[i] : out[i];
    return converged;
}

// (|a| - |b|) / (a - b)
template <class T> inline Vector<T> absolute_quotient(Vector<T> a, Vector<T> b) {
    typedef Vector<T> V;
    V size = magnitude<T>(a) + magnitude<T>(b);
    return size > T(0) ? (a + b) / (size > T(0) ? size : all<T>(1)) : V{};
}
template <class T> inline Vector<T> absolute_slope(Vector<T> a, Vector<T> b) {
    auto both = (a > T(0)) & (b > T(0)), neither = (a < T(0)) & (b < T(0));
    return both ? all<T>(1) : neither ? all<T>(-1) : absolute_quotient<T>(a, b);
}

// The gradient in psi(E) becomes that in E; what psi owes to f comes back.
template <class T>
Vector<T> fold_adjoint(Vector<T>* grad, T f, Fold<T> fold, Vector<T>* first, Vector<T>* second, int n) {
    typedef Vector<T> V;
    Mask<T> bad = (Mask<T>)(*fold.folds > T(0));
    if (!any<T>(bad)) return V{};
    product<T>(first, n, Own<T>{grad, n}, Own<T>{fold.basis, n});
    product<T>(second, n, OwnTransposed<T>{fold.basis, n}, Own<T>{first, n}, Part::symmetric);
    V of_f{};
    for (int i = 0; i < n; ++i) {
        V inner = fold.values[i] + T(1);
        V outer = T(1) + f * (inner >= T(0) ? fold.values[i] : T(-2) - fold.values[i]);
        of_f += outer >= T(0) ? V{} : second[i * n + i] * (T(2) / (f * f));
        for (int j = 0; j < n; ++j) {
            V inner_j = fold.values[j] + T(1);
            V outer_j = T(1) + f * (inner_j >= T(0) ? fold.values[j] : T(-2) - fold.values[j]);
            second[i * n + j] *= absolute_slope<T>(inner, inner_j) * absolute_slope<T>(outer, outer_j);
        }
    }
    product<T>(first, n, Own<T>{fold.basis, n}, Own<T>{second, n});
    product<T>(second, n, Own<T>{first, n}, OwnTransposed<T>{fold.basis, n}, Part::symmetric);
    for (int i = 0; i < n * n; ++i) grad[i] = bad ? second[i] : grad[i];
    return bad ? of_f : V{};
}
