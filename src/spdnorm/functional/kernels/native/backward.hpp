// The way back, step by step from the samples' gradients to those of the inputs.
#pragma once

#include "forward.hpp"

// Gradient of the bias's anchor from the two sums that `rebuild_adjoint` makes for it; `products` is lost.
template <class T>
void anchor_gradient(T* to, const State<T>& state, const T* along_root, T* products, int n) {
    Room<T> room(2, n);
    const Decomposed<T>& base = state.anchor;
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            const T unmask = half_sum_root(base.values, j, i);
            for (int k = 0; k < n; ++k) products[(int64_t(j) * n + i) * n + k] *= unmask;
        }
    sum_gradient(room[0], products, base.values, true, n);
    T *through_sum = room[0], *inside = room[1];
    const T both = *state.factor * std::sqrt(T(2));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const T of_root = T(0.5) * (along_root[i * n + j] / base.root[i] + along_root[j * n + i] / base.root[j]);
            inside[i * n + j] = root_quotient(base, i, j) * of_root + both * through_sum[i * n + j];
        }
    out_of_basis(to, base.basis, inside, n);
}

// Half of the gradient of a pulling P = diag(root) V^T K, taken to K and to the root of the matrix that was decomposed.
template <class T> void pulling_gradient(T* of_root, T* of_k, const Decomposed<T>& at, const T* half_of_p, const T* k, Into into, int n) {
    Room<T> room(2, n);
    if (k == nullptr)
        multiply(of_root, half_of_p, at.basis, n);
    else {
        transpose(room[0], k, n);
        multiply(room[1], half_of_p, room[0], n);
        multiply(of_root, room[1], at.basis, n);
    }
    for (int i = 0; i < n * n; ++i) of_root[i] *= 2;
    if (of_k == nullptr) return;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) room[0][i * n + j] = at.basis[i * n + j] * at.root[j];
    multiply(room[1], room[0], half_of_p, n);
    for (int i = 0; i < n * n; ++i) of_k[i] = (into == Into::add ? of_k[i] : T(0)) + 2 * room[1][i];
}

// Gradient of B; `of_root` is what its root in P owes, `products` and `total` what stands around the samples' roots.
template <class T>
void mean_gradient(T* to, const State<T>& state, const T* of_root, const T* total, T* products, int n) {
    const Decomposed<T>& at = state.at;
    Room<T> room(3, n);
    T *of_inverse = room[0], *through_sum = room[1], *inside = room[2];
    // Z_kj = (E_kj + B^1/2) / w_kj, divided after the sum over samples.
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            T* row = products + (int64_t(j) * n + i) * n;
            row[j] += total[i * n + j] * at.root[j];
            for (int k = 0; k < n; ++k) {
                const T w = state.weight[j * n + k];
                row[k] = w > 0 ? row[k] / w : T(0);
            }
        }
    std::fill(of_inverse, of_inverse + n * n, T(0));
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            T* row = products + (int64_t(j) * n + i) * n;
            const T side = half_sum_root(at.values, j, i) * at.inverse[j];
            for (int k = 0; k < n; ++k) {
                of_inverse[i * n + k] += side * row[k];
                row[k] *= at.inverse[j] * at.inverse[k];
            }
        }
    sum_gradient(through_sum, products, at.values, false, n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const int ij = i * n + j, ji = j * n + i;
            inside[ij] = inverse_root_quotient(at, i, j) * (of_inverse[ij] + of_inverse[ji]) +
                         root_quotient(at, i, j) * (T(0.5) * (of_root[ij] + of_root[ji]) - total[ij]) +
                         std::sqrt(T(0.5)) * through_sum[ij];
        }
    out_of_basis(to, at.basis, inside, n);
}

// From the gradient of B to the samples, all of them alike and each by its root, and to K.
template <class T>
void barycentre_adjoint(const Problem<T>& given, const Kept<T>& kept, const State<T>& state, const T* of_mean, T* of_x, T* of_k) {
    const int n = given.batch.n, square = n * n;
    const T count = T(given.batch.count);
    const Decomposed<T>& at = state.first;
    Room<T> room(6, n);
    T *of_half = room[0], *of_mean_root = room[1], *of_p = room[2], *of_root = room[3], *of_inverse = room[4], *free = room[5];
    multiply(of_half, state.half, of_mean, n);
    for (int i = 0; i < square; ++i) of_half[i] *= 2;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) free[i * n + j] = at.basis[i * n + j] * at.inverse[j] / count;
    multiply(of_mean_root, of_half, free, n);
    symmetrise(of_mean_root, n);
    root_sum_adjoint<T>(given.batch, given.x, state.mean_p, kept.mean_vectors, kept.mean_roots, of_mean_root, of_x, of_p);
    pulling_gradient(of_root, of_k, at, of_p, given.k, Into::add, n);
    multiply(free, state.mean_root, of_half, n);
    multiply(of_inverse, free, at.basis, n);
    T *inside = of_half, *of_at = of_mean_root;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const int ij = i * n + j, ji = j * n + i;
            inside[ij] = T(0.5) * (root_quotient(at, i, j) * (of_root[ij] + of_root[ji]) +
                                   inverse_root_quotient(at, i, j) * (of_inverse[ij] + of_inverse[ji]));
        }
    out_of_basis(of_at, at.basis, inside, n);
    const T* of_all = of_at;
    if (given.k != nullptr) {
        congruence_transposed(of_root, given.k, of_at, n);
        of_all = of_root;
        if (of_k != nullptr) {
            multiply(free, of_at, given.k, n);
            multiply(of_inverse, free, state.arithmetic, n);
            for (int i = 0; i < square; ++i) of_k[i] += 2 * of_inverse[i];
        }
    }
    parallel(given.batch.count, given.batch.threads, [&](int, int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s)
            for (int i = 0; i < square; ++i) of_x[s * square + i] += of_all[i] / count;
    });
}

template <class T> void gradients(const Problem<T>& given, const Kept<T>& kept, const Gradients<T>& wanted) {
    typedef Vector<T> V;
    const int n = given.batch.n, square = n * n;
    State<T> state(kept.state, n);
    const T factor = *state.factor;
    const bool through_mean = given.mean == nullptr && given.own_statistics;
    const bool needs_mean = through_mean || wanted.of_mean != nullptr;
    const bool needs_anchor = wanted.of_anchor != nullptr;

    Scratch in_lanes(sizeof(V) * size_t(groups_of<T>(given.batch) * square) * 2), cube(sizeof(T) * size_t(square) * size_t(n));
    V *of_deviation = in_lanes.as<V>(), *of_turned = needs_anchor ? of_deviation + groups_of<T>(given.batch) * square : nullptr;
    T* products = cube.as<T>();
    Room<T> room(5, n);
    T *masked = room[0], *along_root = room[1], *total = room[2], *of_p = room[3], *of_root = room[4];
    for (int i = 0; i < square; ++i) masked[i] = state.mask[i] * factor;
    T shares[2];
    rebuild_adjoint<T>(given.batch, wanted.of_out, kept.turned, factor, kept.fold, state.turn, masked, state.diagonal, state.mask,
                       moves_outward(given) ? state.outward : nullptr, of_turned, of_deviation,
                       wanted.of_outward == nullptr ? nullptr : total, needs_anchor ? along_root : nullptr, shares);
    const T of_factor = shares[0] + shares[1];
    if (wanted.of_outward != nullptr) {
        if (given.anchor == nullptr)
            std::copy(total, total + square, wanted.of_outward);
        else {
            transpose(of_p, state.anchor.basis, n);
            multiply(wanted.of_outward, total, of_p, n);
        }
    }
    if (needs_anchor) {
        outer<T>(given.batch, of_turned, kept.turned, products);
        anchor_gradient(wanted.of_anchor, state, along_root, products, n);
    }

    const T spread = *state.variance + T(given.eps), inverse_deviation = spread == 0 ? T(0) : T(1) / std::sqrt(spread);
    const T of_variance = T(-0.5) * of_factor * factor * inverse_deviation * inverse_deviation;
    if (wanted.of_scale != nullptr) *wanted.of_scale = of_factor * inverse_deviation;
    if (wanted.of_variance != nullptr) *wanted.of_variance = of_variance;
    const bool own_variance = given.variance == nullptr && given.own_statistics;
    const T slope = own_variance ? of_variance * 2 * T(given.weight) / T(given.batch.count) : T(0);
    const bool needs_p = needs_mean || wanted.of_k != nullptr;
    deviate_adjoint<T>(given.batch, given.x, state.p, state.weight, kept.vectors, kept.roots, kept.deviation, slope, of_deviation,
                       total, wanted.of_x, needs_p ? of_p : nullptr);
    if (!needs_p) return;
    pulling_gradient(of_root, wanted.of_k, state.at, of_p, given.k, Into::set, n);
    if (!needs_mean) return;
    outer<T>(given.batch, of_deviation, kept.deviation, products);
    T* of_mean = wanted.of_mean == nullptr ? along_root : wanted.of_mean;
    mean_gradient(of_mean, state, of_root, total, products, n);
    if (through_mean) barycentre_adjoint(given, kept, state, of_mean, wanted.of_x, wanted.of_k);
}
