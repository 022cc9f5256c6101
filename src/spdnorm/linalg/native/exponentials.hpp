// Exponentials of a few symmetric matrices, and their derivative (paper, Eqs. (svd) and (dif)).
#pragma once

#include <algorithm>
#include <cmath>

#include "dense.hpp"
#include "lanes.hpp"

// One function: exp(rate S) of the matrix S[which].
struct Term {
    int64_t which;
    double rate;
};

// Eigenvalues that lie further below the largest than rounding lets exp(S) show are raised to where it does; then
// out (terms, n, n).
template <class T>
void exponentials(int count, int n, const Term* terms, int number, T* values, const T* vectors, T* out) {
    const int square = n * n;
    Room<T> room(2, n);
    for (int m = 0; m < count; ++m) {
        T* own = values + m * n;
        const T floor = own[n - 1] + std::log(10 * T(n) * Lane<T>::EPS);
        for (int i = 0; i < n; ++i) own[i] = std::max(own[i], floor);
    }
    for (int t = 0; t < number; ++t) {
        const T *own = values + terms[t].which * n, *basis = vectors + terms[t].which * square;
        transpose(room[1], basis, n);
        for (int j = 0; j < n; ++j) {
            const T value = std::exp(T(terms[t].rate) * own[j]);
            for (int i = 0; i < n; ++i) room[0][i * n + j] = basis[i * n + j] * value;
        }
        multiply(out + t * square, room[0], room[1], n);
        symmetrise(out + t * square, n);
    }
}

// (exp(r x) - exp(r y)) / (x - y), without overflow and without a pole.
template <class T> inline T exponential_quotient(T r, T x, T y) {
    const T high = std::max(r * x, r * y), apart = std::abs(r * x - r * y);
    return r * std::exp(high) * (apart > 0 ? -std::expm1(-apart) / apart : T(1));
}

// Gradient in S (count, n, n) from those of the terms, each (n, n), or null for none.
template <class T>
void exponentials_adjoint(int count, int n, const Term* terms, int number, const T* values, const T* vectors,
                          const T* const* grads, T* of_s) {
    const int square = n * n;
    Room<T> room(2, n);
    T *rotated = room[0], *inside = room[1];
    for (int m = 0; m < count; ++m) {
        std::fill(inside, inside + square, T(0));
        const T *own = values + m * n, *basis = vectors + m * square;
        for (int t = 0; t < number; ++t) {
            if (terms[t].which != m || grads[t] == nullptr) continue;
            const T rate = T(terms[t].rate);
            congruence_transposed(rotated, basis, grads[t], n);
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j) inside[i * n + j] += rotated[i * n + j] * exponential_quotient(rate, own[i], own[j]);
        }
        out_of_basis(of_s + m * square, basis, inside, n);
    }
}
