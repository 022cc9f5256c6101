// Square roots of pulled samples, (P X P^T)^1/2, and their adjoint.
#pragma once

#include "eigh.hpp"
#include "parallel.hpp"
#include "products.hpp"

// What a pass works on: `count` samples of size n, one group of lanes after the other, on so many threads.
struct Batch {
    int64_t count;
    int32_t n;
    int32_t threads;
};

// Least and largest eigenvalue seen, and whether all decompositions converged.
template <class T> struct Extremes {
    T least, largest;
    bool converged = true;
    void see(const Vector<T>* values, int n) {
        for (int i = 0; i < n; ++i)
            for (int lane = 0; lane < LANES<T>; ++lane) {
                if (values[i][lane] < least) least = values[i][lane];
                if (values[i][lane] > largest) largest = values[i][lane];
            }
    }
};
template <class T> Extremes<T> nothing_seen() { return {T(__builtin_huge_val()), -T(__builtin_huge_val()), true}; }

// Sums over samples that the threads of a pass share out: a vector of lanes an element and thread, added up in order.
template <class T> class Sums {
  public:
    Sums(int threads, int size) : size_(size), threads_(threads), memory_(sizeof(Vector<T>) * size_t(threads) * size_t(size)) {
        Vector<T>* at = memory_.as<Vector<T>>();
        for (int i = 0; i < threads * size; ++i) at[i] = Vector<T>{};
    }
    Vector<T>* of(int thread) { return memory_.as<Vector<T>>() + thread * size_; }
    void write(T* to, T factor = 1) {
        for (int i = 0; i < size_; ++i) {
            T total = 0;
            for (int t = 0; t < threads_; ++t) total += sum<T>(of(t)[i]);
            to[i] = factor * total;
        }
    }

  private:
    int size_, threads_;
    Scratch memory_;
};

// Y = P X P^T.
template <class T> void pull(Vector<T>* y, Vector<T>* work, const Vector<T>* x, const T* p, int n) {
    product<T>(work, n, Shared<T>{p, n}, Own<T>{x, n});
    product<T>(y, n, Own<T>{work, n}, SharedTransposed<T>{p, n}, Part::symmetric);
}

// Eigenvectors Z and roots r of eigenvalues of Y, which is lost; rounding below zero counts as zero.
template <class T>
void decompose(Vector<T>* y, Vector<T>* z, Vector<T>* r, Vector<T>* work, int n, Extremes<T>& seen) {
    if (!eigh<T>(y, z, r, work, n)) seen.converged = false;
    seen.see(r, n);
    for (int i = 0; i < n; ++i) r[i] = square_root<T>(r[i] > T(0) ? r[i] : Vector<T>{});
}

// Z diag(r) Z^T into `root`, or added to it.
template <class T>
void rebuild_root(Vector<T>* root, Vector<T>* work, const Vector<T>* z, const Vector<T>* r, int n, Into into) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) work[i * n + j] = z[i * n + j] * r[j];
    product<T>(root, n, Own<T>{work, n}, OwnTransposed<T>{z, n}, into == Into::set ? Part::symmetric : Part::whole, into);
}

// Gradient in Y of its root, from the symmetric one in the root (paper, Eqs. (svd) and (dif)): Z ((Z^T S Z) / (r_i + r_j)) Z^T.
// Between two directions of the numerical null space it is 0. `of_root` is lost, `first` and `second` are scratch.
template <class T>
void root_adjoint(Vector<T>* of_root, Vector<T>* first, Vector<T>* second, const Vector<T>* z, const Vector<T>* r, int n) {
    typedef Vector<T> V;
    product<T>(first, n, Own<T>{of_root, n}, Own<T>{z, n});
    product<T>(second, n, OwnTransposed<T>{z, n}, Own<T>{first, n}, Part::symmetric);
    V largest{};
    for (int i = 0; i < n; ++i) largest = larger<T>(largest, r[i]);
    V floor = square_root<T>(all<T>(T(n) * Lane<T>::EPS)) * largest;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            V kept = (r[i] > floor) | (r[j] > floor) ? second[i * n + j] / (r[i] + r[j]) : V{};
            second[i * n + j] = kept;
        }
    product<T>(first, n, Own<T>{z, n}, Own<T>{second, n});
    product<T>(of_root, n, Own<T>{first, n}, OwnTransposed<T>{z, n}, Part::symmetric);
}

// From the gradient `of_y` in Y = P X P^T: adds of_y P X to `of_p` (half of P's gradient) and, in place in `of_y`, that of X.
template <class T>
void pull_adjoint(Vector<T>* of_y, Vector<T>* first, Vector<T>* second, const Vector<T>* x, const T* p, Vector<T>* of_p, int n) {
    if (of_p != nullptr) {
        product<T>(first, n, Shared<T>{p, n}, Own<T>{x, n});
        product<T>(of_p, n, Own<T>{of_y, n}, Own<T>{first, n}, Part::whole, Into::add);
    }
    product<T>(second, n, Own<T>{of_y, n}, Shared<T>{p, n});
    product<T>(of_y, n, SharedTransposed<T>{p, n}, Own<T>{second, n}, Part::symmetric);
}
