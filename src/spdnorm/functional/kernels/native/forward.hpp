// The way there: barycentre, deviations and their variance, then the samples about the bias (paper, Alg. 1).
#pragma once

#include "problem.hpp"

// Summed in blocks, so that rounding does not grow with the batch; the same on any number of threads.
template <class T> void arithmetic_mean(T* mean, const T* x, const Batch& batch) {
    constexpr int64_t BLOCK = 64;
    const int square = batch.n * batch.n;
    const int64_t blocks = (batch.count + BLOCK - 1) / BLOCK;
    Scratch memory(sizeof(T) * size_t(blocks) * size_t(square));
    T* parts = memory.as<T>();
    parallel(blocks, batch.threads, [&](int, int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            T* part = parts + b * square;
            std::fill(part, part + square, T(0));
            for (int64_t s = b * BLOCK; s < std::min((b + 1) * BLOCK, batch.count); ++s)
                for (int i = 0; i < square; ++i) part[i] += x[s * square + i];
        }
    });
    std::fill(mean, mean + square, T(0));
    for (int64_t b = 0; b < blocks; ++b)
        for (int i = 0; i < square; ++i) mean[i] += parts[b * square + i];
    for (int i = 0; i < square; ++i) mean[i] /= T(batch.count);
}

// One step of the fixed point from the arithmetic mean (paper, Eq. (mean_compute2)).
template <class T> int barycentre(const Problem<T>& given, const Kept<T>& kept, State<T>& state, T* mean, T* told) {
    const int n = given.batch.n;
    Room<T> room(2, n);
    arithmetic_mean(state.arithmetic, given.x, given.batch);
    const T* start = state.arithmetic;
    if (given.k != nullptr) {
        congruence(room[0], given.k, state.arithmetic, n);
        start = room[0];
    }
    if (!decompose_shared(state.first, start, n, false)) return 1;
    pulling(state.mean_p, state.first, given.k, n);
    if (root_sum<T>(given.batch, given.x, state.mean_p, kept.mean_vectors, kept.mean_roots, state.mean_root, told)) return 1;
    for (int i = 0; i < n * n; ++i) state.mean_root[i] /= T(given.batch.count);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) room[0][i * n + j] = state.first.inverse[i] * state.first.basis[j * n + i];
    multiply(state.half, state.mean_root, room[0], n);
    transpose(room[1], state.half, n);
    multiply(mean, room[1], state.half, n);
    symmetrise(mean, n);
    return 0;
}

// How samples are rebuilt: the turn from the eigenbasis of B to that of the bias, and what stands on both sides of it.
template <class T> int frame(const Problem<T>& given, State<T>& state) {
    const int n = given.batch.n, square = n * n;
    if (given.anchor == nullptr) {
        std::copy(state.at.basis, state.at.basis + square, state.turn);
        std::fill(state.mask, state.mask + square, T(1));
        std::fill(state.diagonal, state.diagonal + n, T(1));
        if (given.outward != nullptr) std::copy(given.outward, given.outward + square, state.outward);
        return 0;
    }
    if (!decompose_shared(state.anchor, given.anchor, n, true)) return 1;
    Room<T> room(1, n);
    transpose(room[0], state.anchor.basis, n);
    multiply(state.turn, room[0], state.at.basis, n);
    for (int i = 0; i < n; ++i) {
        state.diagonal[i] = state.anchor.root[i];
        for (int j = 0; j < n; ++j) state.mask[i * n + j] = state.anchor.root[j] / half_sum_root(state.anchor.values, i, j);
    }
    if (given.outward == nullptr)
        std::copy(state.anchor.basis, state.anchor.basis + square, state.outward);
    else
        multiply(state.outward, given.outward, state.anchor.basis, n);
    return 0;
}

template <class T> bool moves_outward(const Problem<T>& given) { return given.anchor != nullptr || given.outward != nullptr; }

// Everything but the samples. 0, or 1 where a decomposition does not converge.
template <class T> int statistics(const Problem<T>& given, const Kept<T>& kept, const Results<T>& results) {
    const int n = given.batch.n, square = n * n;
    State<T> state(kept.state, n);
    T *told = results.told, earlier[2] = {0, 0};
    told[0] = told[1] = told[2] = 0;
    if (given.mean != nullptr)
        std::copy(given.mean, given.mean + square, results.mean);
    else {
        if (barycentre(given, kept, state, results.mean, told)) return 1;
        earlier[0] = told[0];
        earlier[1] = told[1];
    }
    if (!decompose_shared(state.at, results.mean, n, false)) return 1;
    std::copy(state.at.values, state.at.values + n, results.values);
    std::copy(state.at.basis, state.at.basis + square, results.basis);
    pulling(state.p, state.at, given.k, n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            state.weight[i * n + j] = half_sum_root(state.at.values, i, j) * state.at.inverse[i] * state.at.inverse[j];
    Scratch lengths(sizeof(T) * size_t(given.batch.count));
    T* length = lengths.as<T>();
    if (deviate<T>(given.batch, given.x, state.p, state.weight, state.at.root, kept.vectors, kept.roots, kept.deviation, length, told))
        return 1;
    told[0] = std::min(told[0], earlier[0]);
    told[1] = std::max(told[1], earlier[1]);
    T squared = 0, longest = 0;
    for (int64_t s = 0; s < given.batch.count; ++s) {
        squared += length[s] * length[s];
        longest = std::max(longest, length[s]);
    }
    T variance = given.variance == nullptr ? T(given.weight) * squared / T(given.batch.count) : *given.variance;
    T total = variance + T(given.eps);
    T factor = total == 0 ? T(0) : T(1) / std::sqrt(total);
    *results.variance = *state.variance = variance;
    *state.factor = given.scale == nullptr ? factor : *given.scale * factor;
    // The Frobenius norm bounds the eigenvalues: below 1 neither I + E nor I + f E is indefinite.
    told[2] = longest * std::max(std::abs(*state.factor), T(1)) >= 1;
    return frame(given, state);
}

// Normalised samples, after `statistics`.
template <class T> int samples(const Problem<T>& given, const Kept<T>& kept, T* out) {
    const int n = given.batch.n;
    State<T> state(kept.state, n);
    Room<T> room(1, n);
    for (int i = 0; i < n * n; ++i) room[0][i] = state.mask[i] * *state.factor;
    return rebuild<T>(given.batch, kept.deviation, *state.factor, kept.fold, state.turn, room[0], state.diagonal,
                      moves_outward(given) ? state.outward : nullptr, kept.turned, out);
}
