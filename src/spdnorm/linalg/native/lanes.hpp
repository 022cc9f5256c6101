// Several matrices at once: one in each lane of a vector register, so that no step waits for another matrix's.
//
// A group of LANES<T> matrices is stored element by element, a vector of lanes each. Every algorithm here is that for one
// matrix, written once; where lanes would branch differently, both branches are taken and blended.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__)
constexpr int REGISTER = 64;
#elif defined(__ARM_NEON)
constexpr int REGISTER = 16;
#else
constexpr int REGISTER = 32;
#endif

template <class T> constexpr int LANES = REGISTER / sizeof(T);

template <class T> struct Lane;
template <> struct Lane<double> {
    typedef double Vector __attribute__((vector_size(REGISTER)));
    typedef int64_t Mask __attribute__((vector_size(REGISTER)));
    static constexpr double EPS = 2.220446049250313e-16;
    static constexpr int EXPONENTS = 1000;
};
template <> struct Lane<float> {
    typedef float Vector __attribute__((vector_size(REGISTER)));
    typedef int32_t Mask __attribute__((vector_size(REGISTER)));
    static constexpr float EPS = 1.1920928955078125e-07f;
    static constexpr int EXPONENTS = 120;
};
template <class T> using Vector = typename Lane<T>::Vector;
template <class T> using Mask = typename Lane<T>::Mask;

template <class T> inline Vector<T> all(T value) { return Vector<T>{} + value; }

template <class T> inline bool any(const typename Lane<T>::Mask& mask) {
    int64_t seen = 0;
    for (int lane = 0; lane < LANES<T>; ++lane) seen |= mask[lane];
    return seen != 0;
}

template <class T> inline Vector<T> square_root(Vector<T> x) {
    Vector<T> root;
    for (int lane = 0; lane < LANES<T>; ++lane) root[lane] = __builtin_sqrt(x[lane]);
    return root;
}
template <> inline Vector<float> square_root<float>(Vector<float> x) {
    Vector<float> root;
    for (int lane = 0; lane < LANES<float>; ++lane) root[lane] = __builtin_sqrtf(x[lane]);
    return root;
}

template <class T> inline Vector<T> magnitude(Vector<T> x) { return x < T(0) ? -x : x; }
template <class T> inline Vector<T> larger(Vector<T> a, Vector<T> b) { return a > b ? a : b; }

template <class T> inline T sum(Vector<T> x) {
    T total = 0;
    for (int lane = 0; lane < LANES<T>; ++lane) total += x[lane];
    return total;
}

// Samples first .. first + LANES of a row-major array, `stride` apart; lanes beyond the last one repeat it.
template <class T> void load(Vector<T>* to, const T* from, int64_t first, int64_t count, int64_t stride, int size) {
    const T* at[LANES<T>];
    for (int lane = 0; lane < LANES<T>; ++lane) {
        int64_t sample = first + lane;
        at[lane] = from + (sample < count ? sample : count - 1) * stride;
    }
    for (int i = 0; i < size; ++i)
        for (int lane = 0; lane < LANES<T>; ++lane) to[i][lane] = at[lane][i];
}

template <class T> void store(const Vector<T>* from, T* to, int64_t first, int64_t count, int64_t stride, int size) {
    int valid = count - first < LANES<T> ? int(count - first) : LANES<T>;
    for (int lane = 0; lane < valid; ++lane) {
        T* at = to + (first + lane) * stride;
        for (int i = 0; i < size; ++i) at[i] = from[i][lane];
    }
}

// 1 in lanes of samples, 0 in those beyond the last.
template <class T> inline Vector<T> present(int64_t first, int64_t count) {
    Vector<T> weight;
    for (int lane = 0; lane < LANES<T>; ++lane) weight[lane] = first + lane < count ? 1 : 0;
    return weight;
}
