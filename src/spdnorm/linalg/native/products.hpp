// Matrix products over lanes, in blocks that stay in registers.
#pragma once

#include "lanes.hpp"

#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr int BLOCK_COLUMNS = 4;
#else
constexpr int BLOCK_COLUMNS = 2;
#endif
constexpr int BLOCK_ROWS = 4;

// A factor that differs from lane to lane, one that all lanes share, and both transposed.
template <class T> struct Own {
    const Vector<T>* at;
    int n;
    Vector<T> operator()(int i, int j) const { return at[i * n + j]; }
};
template <class T> struct OwnTransposed {
    const Vector<T>* at;
    int n;
    Vector<T> operator()(int i, int j) const { return at[j * n + i]; }
};
template <class T> struct Shared {
    const T* at;
    int n;
    T operator()(int i, int j) const { return at[i * n + j]; }
};
template <class T> struct SharedTransposed {
    const T* at;
    int n;
    T operator()(int i, int j) const { return at[j * n + i]; }
};

enum class Part { whole, symmetric };
enum class Into { set, add };

template <class T, int ROWS, int COLUMNS, class A, class B>
inline void block(Vector<T>* c, int n, int i, int j, const A& a, const B& b, Part part, Into into) {
    Vector<T> total[ROWS][COLUMNS] = {};
    for (int k = 0; k < n; ++k) {
        Vector<T> right[COLUMNS];
        for (int q = 0; q < COLUMNS; ++q) right[q] = Vector<T>{} + b(k, j + q);
        for (int p = 0; p < ROWS; ++p) {
            auto left = a(i + p, k);
            for (int q = 0; q < COLUMNS; ++q) total[p][q] += left * right[q];
        }
    }
    for (int p = 0; p < ROWS; ++p)
        for (int q = 0; q < COLUMNS; ++q) {
            Vector<T>& place = c[(i + p) * n + j + q];
            if (into == Into::add) total[p][q] += place;
            place = total[p][q];
            if (part == Part::symmetric) c[(j + q) * n + i + p] = total[p][q];
        }
}

template <class T, int ROWS, class A, class B>
inline void strip(Vector<T>* c, int n, int i, const A& a, const B& b, Part part, Into into) {
    int end = part == Part::symmetric ? (i + ROWS < n ? i + ROWS : n) : n;
    int j = 0;
    for (; j + BLOCK_COLUMNS <= end; j += BLOCK_COLUMNS) block<T, ROWS, BLOCK_COLUMNS>(c, n, i, j, a, b, part, into);
    for (; j < end; ++j) block<T, ROWS, 1>(c, n, i, j, a, b, part, into);
}

// C = A B, or C += A B. With Part::symmetric the product is known to be symmetric and only half of it is computed;
// adding to such a one is not meant: blocks on the diagonal are written twice.
template <class T, class A, class B>
void product(Vector<T>* c, int n, const A& a, const B& b, Part part = Part::whole, Into into = Into::set) {
    int i = 0;
    for (; i + BLOCK_ROWS <= n; i += BLOCK_ROWS) strip<T, BLOCK_ROWS>(c, n, i, a, b, part, into);
    for (; i < n; ++i) strip<T, 1>(c, n, i, a, b, part, into);
}
