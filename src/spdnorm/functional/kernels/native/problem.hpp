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

// Kept for the way back, in memory of the caller's: `state` is what samples share (see State), `lanes` (kept_elements for
// each slot) and `fold` (fold_elements; null where no sample can fold) are what each has for itself.
template <class T> struct Memory {
    T *state, *lanes, *fold;
};

inline int64_t kept_elements(int n, bool own_mean) { return (3 + own_mean) * int64_t(n) * n + (1 + own_mean) * int64_t(n); }
inline int64_t fold_elements(int n) { return int64_t(n) * n + n + 1; }

template <class T> struct Kept {
    T* state;
    Vector<T> *mean_vectors = nullptr, *mean_roots = nullptr, *vectors, *roots, *deviation, *turned;
    Fold<T> fold{nullptr, nullptr, nullptr};

    Kept(const Memory<T>& memory, const Problem<T>& given) : state(memory.state) {
        const int64_t n = given.batch.n, groups = groups_of<T>(given.batch);
        auto take = [groups](Vector<T>*& from, int64_t elements) {
            Vector<T>* part = from;
            from += groups * elements;
            return part;
        };
        auto* lanes = reinterpret_cast<Vector<T>*>(memory.lanes);
        vectors = take(lanes, n * n);
        deviation = take(lanes, n * n);
        turned = take(lanes, n * n);
        roots = take(lanes, n);
        if (given.mean == nullptr) {
            mean_vectors = take(lanes, n * n);
            mean_roots = take(lanes, n);
        }
        if (memory.fold == nullptr) return;
        auto* folding = reinterpret_cast<Vector<T>*>(memory.fold);
        fold.basis = take(folding, n * n);
        fold.values = take(folding, n);
        fold.folds = take(folding, 1);
    }
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
