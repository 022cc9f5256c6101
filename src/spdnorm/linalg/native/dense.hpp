// One matrix at a time, as plain row-major arrays: for what all samples share.
#pragma once

#include "parallel.hpp"

// C = A B; C is none of the factors.
template <class T> void multiply(T* c, const T* a, const T* b, int n) {
    for (int i = 0; i < n; ++i) {
        T* row = c + i * n;
        for (int j = 0; j < n; ++j) row[j] = 0;
        for (int k = 0; k < n; ++k) {
            const T factor = a[i * n + k];
            const T* right = b + k * n;
            for (int j = 0; j < n; ++j) row[j] += factor * right[j];
        }
    }
}
template <class T> void transpose(T* to, const T* from, int n) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) to[j * n + i] = from[i * n + j];
}
template <class T> void symmetrise(T* a, int n) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) a[i * n + j] = a[j * n + i] = T(0.5) * (a[i * n + j] + a[j * n + i]);
}

// Room for a few n x n matrices.
template <class T> class Room {
  public:
    Room(int matrices, int n) : square_(n * n), memory_(sizeof(T) * size_t(matrices) * size_t(square_) + 64) {}
    T* operator[](int i) const { return memory_.as<T>() + i * square_; }

  private:
    int square_;
    Scratch memory_;
};

// C = P A P^T, or P^T A P.
template <class T> void congruence(T* c, const T* p, const T* a, int n) {
    Room<T> room(2, n);
    multiply(room[0], p, a, n);
    transpose(room[1], p, n);
    multiply(c, room[0], room[1], n);
}
template <class T> void congruence_transposed(T* c, const T* p, const T* a, int n) {
    Room<T> room(2, n);
    transpose(room[0], p, n);
    multiply(room[1], room[0], a, n);
    multiply(c, room[1], p, n);
}

// V A V^T, made symmetric.
template <class T> void out_of_basis(T* to, const T* basis, const T* inside, int n) {
    congruence(to, basis, inside, n);
    symmetrise(to, n);
}
