// Singular values and vectors in lanes: one-sided Jacobi rotations (Hestenes 1958) after an eigendecomposition of W^T W.
//
// The eigenvectors V of W^T W make the columns of W V orthogonal up to rounding of the size of the largest; rotations then
// make them orthogonal relative to their own lengths (Demmel and Veselic 1992), which keeps the digits of the small ones.
#pragma once

#include "eigh.hpp"
#include "products.hpp"

// Rows of B (n, n) made orthogonal by rotations, which V's rows (n, n) follow. False where that takes too many sweeps.
template <class T> bool orthogonalise_rows(Vector<T>* b, Vector<T>* v, int n) {
    typedef Vector<T> V;
    const T tolerance = Lane<T>::EPS * T(__builtin_sqrt(double(n)));
    for (int sweep = 0; sweep < 30; ++sweep) {
        bool rotated = false;
        for (int p = 0; p < n - 1; ++p)
            for (int q = p + 1; q < n; ++q) {
                V *x = b + p * n, *y = b + q * n, alpha{}, beta{}, gamma{};
                for (int i = 0; i < n; ++i) {
                    alpha += x[i] * x[i];
                    beta += y[i] * y[i];
                    gamma += x[i] * y[i];
                }
                Mask<T> skew = (Mask<T>)(magnitude<T>(gamma) > tolerance * square_root<T>(alpha) * square_root<T>(beta));
                if (!any<T>(skew)) continue;
                rotated = true;
                V zeta = (beta - alpha) / (skew ? gamma + gamma : all<T>(1));
                V tangent = T(1) / (magnitude<T>(zeta) + square_root<T>(T(1) + zeta * zeta));
                tangent = skew ? (zeta < T(0) ? -tangent : tangent) : V{};
                V c = T(1) / square_root<T>(T(1) + tangent * tangent), s = c * tangent;
                V *left = v + p * n, *right = v + q * n;
                for (int i = 0; i < n; ++i) {
                    V moved = c * x[i] - s * y[i], turned = c * left[i] - s * right[i];
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

template <class T> constexpr int svd_scratch(int n) { return 2 * n * n + eigh_scratch<T>(n); }

// W = U diag(sigma) V^T as the rows of U^T and V^T, in no order. False where W is singular to working precision, whose
// vectors would have to be made up, or where it does not converge.
template <class T>
bool svd(const Vector<T>* w, Vector<T>* left, Vector<T>* sigma, Vector<T>* right, Vector<T>* scratch, int n) {
    typedef Vector<T> V;
    V *gram = scratch, *basis = scratch + n * n, *work = scratch + 2 * n * n;
    product<T>(gram, n, OwnTransposed<T>{w, n}, Own<T>{w, n}, Part::symmetric);
    if (!eigh<T>(gram, basis, sigma, work, n)) return false;
    product<T>(left, n, OwnTransposed<T>{basis, n}, OwnTransposed<T>{w, n});
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) right[i * n + j] = basis[j * n + i];
    if (!orthogonalise_rows<T>(left, right, n)) return false;
    V largest{};
    for (int j = 0; j < n; ++j) {
        V squared{};
        for (int i = 0; i < n; ++i) squared += left[j * n + i] * left[j * n + i];
        sigma[j] = square_root<T>(squared);
        largest = larger<T>(largest, sigma[j]);
    }
    Mask<T> regular = ~Mask<T>{};
    for (int j = 0; j < n; ++j) {
        regular &= (Mask<T>)(sigma[j] > T(n) * Lane<T>::EPS * largest);
        for (int i = 0; i < n; ++i) left[j * n + i] /= sigma[j];
    }
    return !any<T>(~regular);
}
