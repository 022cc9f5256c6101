// The passes over the samples of Bures-Wasserstein batch normalisation, forward and backward.
//
// Every function goes once over the batch, a group of lanes at a time. What a later pass needs stays in lanes, in arrays
// that the caller keeps: (groups, elements, LANES). Sums over samples come back as plain (n, n) arrays. Names are those of
// spdnorm.functional.kernels.bw_barycentre and bw_normalise, which have the mathematics.
#pragma once

#include <atomic>

#include "fold.hpp"
#include "roots.hpp"

template <class T> int64_t groups_of(const Batch& batch) { return (batch.count + LANES<T> - 1) / LANES<T>; }

template <class T> int report(const std::vector<Extremes<T>>& seen, T* extremes) {
    Extremes<T> whole = nothing_seen<T>();
    for (const auto& one : seen) {
        if (one.least < whole.least) whole.least = one.least;
        if (one.largest > whole.largest) whole.largest = one.largest;
        whole.converged = whole.converged && one.converged;
    }
    extremes[0] = whole.least;
    extremes[1] = whole.largest;
    return whole.converged ? 0 : 1;
}

// sum_s (P X_s P^T)^1/2, with eigenvectors Z (n n) and roots r (n) of each sample.
template <class T>
int root_sum(Batch batch, const T* x, const T* p, Vector<T>* z, Vector<T>* r, T* total, T* extremes) {
    typedef Vector<T> V;
    const int n = batch.n, square = n * n;
    Sums<T> sums(batch.threads, square);
    std::vector<Extremes<T>> seen(size_t(batch.threads), nothing_seen<T>());
    parallel(groups_of<T>(batch), batch.threads, [&](int thread, int64_t begin, int64_t end) {
        Scratch scratch(sizeof(V) * size_t(3 * square + eigh_scratch<T>(n)));
        V *sample = scratch.as<V>(), *first = sample + square, *y = first + square, *work = y + square;
        for (int64_t g = begin; g < end; ++g) {
            load<T>(sample, x, g * LANES<T>, batch.count, square, square);
            pull<T>(y, first, sample, p, n);
            decompose<T>(y, z + g * square, r + g * n, work, n, seen[size_t(thread)]);
            V weight = present<T>(g * LANES<T>, batch.count);
            for (int i = 0; i < n; ++i) work[i] = r[g * n + i] * weight;
            rebuild_root<T>(sums.of(thread), first, z + g * square, work, n, Into::add);
        }
    });
    sums.write(total);
    return report<T>(seen, extremes);
}

// Adjoint of the sum of roots, from the gradient `grad` (n n) in it: half of P's, and that of X on top of `of_x`.
template <class T>
void root_sum_adjoint(Batch batch, const T* x, const T* p, const Vector<T>* z, const Vector<T>* r, const T* grad,
                      T* of_x, T* of_p) {
    typedef Vector<T> V;
    const int n = batch.n, square = n * n;
    Sums<T> sums(batch.threads, square);
    parallel(groups_of<T>(batch), batch.threads, [&](int thread, int64_t begin, int64_t end) {
        Scratch scratch(sizeof(V) * size_t(4 * square));
        V *sample = scratch.as<V>(), *first = sample + square, *second = first + square, *of_y = second + square;
        for (int64_t g = begin; g < end; ++g) {
            V weight = present<T>(g * LANES<T>, batch.count);
            for (int i = 0; i < square; ++i) of_y[i] = grad[i] * weight;
            root_adjoint<T>(of_y, first, second, z + g * square, r + g * n, n);
            load<T>(sample, x, g * LANES<T>, batch.count, square, square);
            pull_adjoint<T>(of_y, first, second, sample, p, sums.of(thread), n);
            load<T>(first, of_x, g * LANES<T>, batch.count, square, square);
            for (int i = 0; i < square; ++i) of_y[i] += first[i];
            store<T>(of_y, of_x, g * LANES<T>, batch.count, square, square);
        }
    });
    sums.write(of_p);
}

// Deviations E = w o (P X P^T)^1/2 - diag(b), in the eigenbasis of the barycentre, and their lengths.
template <class T>
int deviate(Batch batch, const T* x, const T* p, const T* w, const T* b, Vector<T>* z, Vector<T>* r,
            Vector<T>* deviation, T* length, T* extremes) {
    typedef Vector<T> V;
    const int n = batch.n, square = n * n;
    std::vector<Extremes<T>> seen(size_t(batch.threads), nothing_seen<T>());
    parallel(groups_of<T>(batch), batch.threads, [&](int thread, int64_t begin, int64_t end) {
        Scratch scratch(sizeof(V) * size_t(3 * square + eigh_scratch<T>(n)));
        V *sample = scratch.as<V>(), *first = sample + square, *y = first + square, *work = y + square;
        for (int64_t g = begin; g < end; ++g) {
            load<T>(sample, x, g * LANES<T>, batch.count, square, square);
            pull<T>(y, first, sample, p, n);
            decompose<T>(y, z + g * square, r + g * n, work, n, seen[size_t(thread)]);
            V* e = deviation + g * square;
            rebuild_root<T>(e, first, z + g * square, r + g * n, n, Into::set);
            V squared{};
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j) {
                    V value = e[i * n + j] * w[i * n + j];
                    if (i == j) value -= b[i];
                    e[i * n + j] = value;
                    squared += value * value;
                }
            V norm = square_root<T>(squared);
            store<T>(&norm, length, g * LANES<T>, batch.count, 1, 1);
        }
    });
    return report<T>(seen, extremes);
}

// Adjoint of the deviations. `of_deviation` gains slope E, the variance's share, and keeps it; its sum goes to `total`.
template <class T>
void deviate_adjoint(Batch batch, const T* x, const T* p, const T* w, const Vector<T>* z, const Vector<T>* r,
                     const Vector<T>* deviation, T slope, Vector<T>* of_deviation, T* total, T* of_x, T* of_p) {
    typedef Vector<T> V;
    const int n = batch.n, square = n * n;
    Sums<T> sums(batch.threads, square), totals(batch.threads, square);
    parallel(groups_of<T>(batch), batch.threads, [&](int thread, int64_t begin, int64_t end) {
        Scratch scratch(sizeof(V) * size_t(4 * square));
        V *sample = scratch.as<V>(), *first = sample + square, *second = first + square, *of_y = second + square;
        for (int64_t g = begin; g < end; ++g) {
            V weight = slope * present<T>(g * LANES<T>, batch.count);
            V *grad = of_deviation + g * square, *sum_here = totals.of(thread);
            const V* e = deviation + g * square;
            for (int i = 0; i < square; ++i) {
                grad[i] += weight * e[i];
                sum_here[i] += grad[i];
                of_y[i] = grad[i] * w[i];
            }
            root_adjoint<T>(of_y, first, second, z + g * square, r + g * n, n);
            if (of_p != nullptr) load<T>(sample, x, g * LANES<T>, batch.count, square, square);
            pull_adjoint<T>(of_y, first, second, sample, p, of_p == nullptr ? nullptr : sums.of(thread), n);
            store<T>(of_y, of_x, g * LANES<T>, batch.count, square, square);
        }
    });
    totals.write(total);
    if (of_p != nullptr) sums.write(of_p);
}

// Y = L L^T, L = H S, S = m o (R psi(E) R^T) + diag(d): folded, turned by R, masked, moved by H (none: the identity).
template <class T>
int rebuild(Batch batch, const Vector<T>* deviation, T factor, Fold<T> fold, const T* turn, const T* mask,
            const T* diagonal, const T* outward, Vector<T>* turned, T* out) {
    typedef Vector<T> V;
    const int n = batch.n, square = n * n;
    std::atomic<int> failures{0};
    parallel(groups_of<T>(batch), batch.threads, [&](int, int64_t begin, int64_t end) {
        Scratch scratch(sizeof(V) * size_t(3 * square + eigh_scratch<T>(n)));
        V *first = scratch.as<V>(), *second = first + square, *third = second + square, *work = third + square;
        for (int64_t g = begin; g < end; ++g) {
            const V* e = deviation + g * square;
            if (fold.basis != nullptr) {
                if (!fold_forward<T>(third, e, factor, fold.at(g, n), first, second, work, n)) ++failures;
                e = third;
            }
            V* rotated = turned + g * square;
            product<T>(first, n, Shared<T>{turn, n}, Own<T>{e, n});
            product<T>(rotated, n, Own<T>{first, n}, SharedTransposed<T>{turn, n}, Part::symmetric);
            step<T>(first, rotated, mask, diagonal, n);
            V* half = first;
            if (outward != nullptr) {
                product<T>(second, n, Shared<T>{outward, n}, Own<T>{first, n});
                half = second;
            }
            product<T>(third, n, Own<T>{half, n}, OwnTransposed<T>{half, n}, Part::symmetric);
            store<T>(third, out, g * LANES<T>, batch.count, square, square);
        }
    });
    return failures;
}

// Adjoint of `rebuild`: the gradients in E (after the folds), in the turned deviations T if they are wanted for a sum, and
// the sums of_outward (half S^T), along_root (S^T half), of_factor (<T, gradient>, and the fold's own share beside it).
template <class T>
void rebuild_adjoint(Batch batch, const T* grad, const Vector<T>* turned, T factor, Fold<T> fold, const T* turn,
                     const T* mask, const T* diagonal, const T* plain_mask, const T* outward,
                     Vector<T>* of_turned, Vector<T>* of_deviation, T* of_outward, T* along_root, T* of_factor) {
    typedef Vector<T> V;
    const int n = batch.n, square = n * n;
    Sums<T> outward_sums(batch.threads, square), root_sums(batch.threads, square), factor_sums(batch.threads, 2);
    parallel(groups_of<T>(batch), batch.threads, [&](int thread, int64_t begin, int64_t end) {
        Scratch scratch(sizeof(V) * size_t(4 * square));
        V *first = scratch.as<V>(), *second = first + square, *third = second + square, *fourth = third + square;
        for (int64_t g = begin; g < end; ++g) {
            V weight = present<T>(g * LANES<T>, batch.count);
            load<T>(second, grad, g * LANES<T>, batch.count, square, square);
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j) first[i * n + j] = (second[i * n + j] + second[j * n + i]) * weight;
            const V* rotated = turned + g * square;
            step<T>(second, rotated, mask, diagonal, n);
            V *half = second, *of_half = third, *of_step = third;
            if (outward != nullptr) {
                product<T>(fourth, n, Shared<T>{outward, n}, Own<T>{second, n});
                half = fourth;
            }
            product<T>(of_half, n, Own<T>{first, n}, Own<T>{half, n});
            if (of_outward != nullptr)
                product<T>(outward_sums.of(thread), n, Own<T>{of_half, n}, OwnTransposed<T>{second, n}, Part::whole, Into::add);
            if (outward != nullptr) {
                product<T>(fourth, n, SharedTransposed<T>{outward, n}, Own<T>{of_half, n});
                of_step = fourth;
            }
            if (along_root != nullptr)
                product<T>(root_sums.of(thread), n, OwnTransposed<T>{second, n}, Own<T>{of_step, n}, Part::whole, Into::add);
            V* of_rotated = of_turned == nullptr ? first : of_turned + g * square;
            V along{};
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j) {
                    V value = T(0.5) * (of_step[i * n + j] * plain_mask[i * n + j] + of_step[j * n + i] * plain_mask[j * n + i]);
                    of_rotated[i * n + j] = value;
                    along += value * rotated[i * n + j];
                }
            factor_sums.of(thread)[0] += along;
            V* of_e = of_deviation + g * square;
            product<T>(second, n, SharedTransposed<T>{turn, n}, Own<T>{of_rotated, n});
            product<T>(of_e, n, Own<T>{second, n}, Shared<T>{turn, n}, Part::symmetric);
            for (int i = 0; i < square; ++i) of_e[i] *= factor;
            if (fold.basis != nullptr)
                factor_sums.of(thread)[1] += fold_adjoint<T>(of_e, factor, fold.at(g, n), first, second, n);
        }
    });
    if (of_outward != nullptr) outward_sums.write(of_outward);
    if (along_root != nullptr) root_sums.write(along_root);
    factor_sums.write(of_factor);
}

// P_jik = sum over samples of A_ij B_kj.
template <class T> void outer(Batch batch, const Vector<T>* a, const Vector<T>* b, T* p) {
    typedef Vector<T> V;
    const int n = batch.n, square = n * n;
    const int64_t groups = groups_of<T>(batch);
    constexpr int SIDE = BLOCK_COLUMNS;
    parallel(n, batch.threads, [&](int, int64_t begin, int64_t end) {
        for (int j = int(begin); j < int(end); ++j)
            for (int i = 0; i < n; i += SIDE)
                for (int k = 0; k < n; k += SIDE) {
                    V total[SIDE][SIDE] = {};
                    for (int64_t g = 0; g < groups; ++g) {
                        V left[SIDE], right[SIDE];
                        for (int s = 0; s < SIDE; ++s) {
                            // The last block repeats the last row, whose sums are not written.
                            left[s] = a[g * square + (i + s < n ? i + s : n - 1) * n + j];
                            right[s] = b[g * square + (k + s < n ? k + s : n - 1) * n + j];
                        }
                        for (int s = 0; s < SIDE; ++s)
                            for (int t = 0; t < SIDE; ++t) total[s][t] += left[s] * right[t];
                    }
                    for (int s = 0; s < SIDE && i + s < n; ++s)
                        for (int t = 0; t < SIDE && k + t < n; ++t) p[(int64_t(j) * n + i + s) * n + k + t] = sum<T>(total[s][t]);
                }
    });
}
