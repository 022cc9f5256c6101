// What goes in and out of the two directions, and what the way back keeps. Mirrored by ctypes structures in _library.py.
#pragma once

#include "passes.hpp"
#include "shared.hpp"

// Inputs; those that may be missing are null. `own_statistics`: whether gradients go through the batch's own ones.
template <class T> struct Problem {
    const T *x, *k, *outward, *anchor, *scale, *mean, *variance;
    double eps, weight;
    Batch batch;
    int64_t own_statistics;
};

// Kept for the way back: `state` holds what samples share (see State), the others are in lanes.
template <class T> struct Kept {
    T* state;
    Vector<T> *mean_vectors, *mean_roots, *vectors, *roots, *deviation, *turned;
    Fold<T> fold;
};

// Results of the forward pass; `told`: least and largest eigenvalue, and whether samples may fold.
template <class T> struct Results {
    T *out, *mean, *variance, *values, *basis, *told;
};

// The gradient of `out`, and those that are asked for (others are null).
template <class T> struct Gradients {
    const T* of_out;
    T *of_x, *of_k, *of_outward, *of_anchor, *of_scale, *of_mean, *of_variance;
};

// The parts of `state`.
template <class T> struct State {
    T *arithmetic, *mean_p, *mean_root, *half, *weight, *p, *turn, *mask, *outward, *diagonal, *factor, *variance;
    Decomposed<T> first, at, anchor;

    State(T* from, int n) {
        const int square = n * n;
        auto take = [&](int size) {
            T* part = from;
            from += size;
            return part;
        };
        for (T** part : {&arithmetic, &mean_p, &mean_root, &half, &weight, &p, &turn, &mask, &outward, &first.basis, &at.basis, &anchor.basis})
            *part = take(square);
        for (T** part : {&diagonal, &first.values, &first.root, &first.inverse, &at.values, &at.root, &at.inverse, &anchor.values, &anchor.root, &anchor.inverse})
            *part = take(n);
        factor = take(1);
        variance = take(1);
    }
    static int64_t size(int n) { return int64_t(12) * n * n + 10 * n + 2; }
};
