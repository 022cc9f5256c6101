// Symmetric eigenproblems in lanes: Householder's reduction to a tridiagonal matrix, then implicit QL steps.
#pragma once

#include <cstring>

#include "lanes.hpp"

// A power of two by which a lane's largest element is divided, so that squares neither overflow nor vanish. 1 for zero,
// infinity and NaN; not so small that its inverse overflows.
template <class T> inline Vector<T> power_of_two(Vector<T> size) {
    Vector<T> power;
    for (int lane = 0; lane < LANES<T>; ++lane) {
        int exponent = 0;
        T x = size[lane];
        if (x > 0 && x - x == 0) __builtin_frexp(double(x), &exponent);
        if (exponent < -Lane<T>::EXPONENTS) exponent = -Lane<T>::EXPONENTS;
        if (exponent > Lane<T>::EXPONENTS) exponent = Lane<T>::EXPONENTS;
        power[lane] = T(__builtin_ldexp(1.0, exponent));
    }
    return power;
}

// A -> tridiagonal d, e (e[i] between i and i + 1); the reflections' vectors stay below A's diagonal, their factors in t.
template <class T> void tridiagonalise(Vector<T>* a, Vector<T>* d, Vector<T>* e, Vector<T>* t, Vector<T>* work, int n) {
    typedef Vector<T> V;
    V *v = work, *p = work + n, *next = work + 2 * n;
    for (int k = 0; k < n - 1; ++k) {
        d[k] = a[k * n + k];
        if (k == n - 2) {
            e[k] = a[(k + 1) * n + k];
            t[k] = V{};
            break;
        }
        V squared{};
        for (int i = k + 1; i < n; ++i) {
            v[i] = a[i * n + k];
            squared += v[i] * v[i];
        }
        V norm = square_root<T>(squared), head = v[k + 1];
        auto usable = norm > T(0);
        V reach = head < T(0) ? -norm : norm;
        e[k] = usable ? -reach : V{};
        v[k + 1] = head + reach;
        // 2 / |v|^2 = 1 / (norm^2 + |head| norm)
        V length = squared + magnitude<T>(head) * norm;
        auto reflects = length > T(0);
        V factor = reflects ? T(1) / length : V{};
        t[k] = factor;
        for (int i = k + 1; i < n; ++i) a[i * n + k] = v[i];
        // p = factor A v, of the lower triangle
        for (int i = k + 1; i < n; ++i) p[i] = V{};
        for (int i = k + 1; i < n; ++i) {
            V total{}, vi = v[i];
            const V* row = a + i * n;
            for (int j = k + 1; j < i; ++j) {
                total += row[j] * v[j];
                p[j] += row[j] * vi;
            }
            p[i] += total + row[i] * vi;
        }
        V along{};
        for (int i = k + 1; i < n; ++i) {
            p[i] *= factor;
            along += p[i] * v[i];
        }
        along *= T(0.5) * factor;
        for (int i = k + 1; i < n; ++i) next[i] = p[i] - along * v[i];
        for (int i = k + 1; i < n; ++i) {
            V vi = v[i], qi = next[i];
            V* row = a + i * n;
            for (int j = k + 1; j <= i; ++j) row[j] -= vi * next[j] + qi * v[j];
        }
    }
    d[n - 1] = a[(n - 1) * n + n - 1];
    e[n - 1] = V{};
}

// The product of the reflections, row-major.
template <class T> void reflections(const Vector<T>* a, const Vector<T>* t, Vector<T>* z, Vector<T>* work, int n) {
    typedef Vector<T> V;
    for (int i = 0; i < n * n; ++i) z[i] = V{};
    for (int i = 0; i < n; ++i) z[i * n + i] = all<T>(1);
    for (int k = n - 3; k >= 0; --k) {
        V* w = work;
        for (int j = k + 1; j < n; ++j) w[j] = V{};
        for (int i = k + 1; i < n; ++i) {
            V vi = a[i * n + k];
            const V* row = z + i * n;
            for (int j = k + 1; j < n; ++j) w[j] += vi * row[j];
        }
        for (int i = k + 1; i < n; ++i) {
            V vi = t[k] * a[i * n + k];
            V* row = z + i * n;
            for (int j = k + 1; j < n; ++j) row[j] -= vi * w[j];
        }
    }
}

// One sweep's rotations of columns (i, i + 1), i from `high` - 1 down to `low`, applied to ROWS rows of Z.
template <class T, int ROWS>
inline void rotate(Vector<T>* z, int n, int low, int high, const Vector<T>* c, const Vector<T>* s) {
    Vector<T> carried[ROWS];
    for (int r = 0; r < ROWS; ++r) carried[r] = z[r * n + high];
    for (int i = high - 1; i >= low; --i) {
        Vector<T> ci = c[i], si = s[i];
        for (int r = 0; r < ROWS; ++r) {
            Vector<T> here = z[r * n + i];
            z[r * n + i + 1] = si * here + ci * carried[r];
            carried[r] = ci * here - si * carried[r];
        }
    }
    for (int r = 0; r < ROWS; ++r) z[r * n + low] = carried[r];
}

// Eigenvalues of (d, e) into d, rotations onto the columns of Z. False where a lane does not converge (NaN).
template <class T> bool implicit_ql(Vector<T>* d, Vector<T>* e, Vector<T>* z, Vector<T>* work, int n) {
    typedef Vector<T> V;
    typedef Mask<T> M;
    V *c = work, *s = work + n;
    for (int l = 0; l < n - 1; ++l) {
        for (int step = 0;; ++step) {
            // In each lane the first negligible element from l on.
            V at{};
            M found{};
            V last{};
            int high = l;
            for (int m = l; m < n; ++m) {
                M small = m == n - 1 ? (M{} - 1) : (M)(magnitude<T>(e[m]) <= Lane<T>::EPS * (magnitude<T>(d[m]) + magnitude<T>(d[m + 1])));
                M here = small & ~found;
                at = here ? all<T>(T(m)) : at;
                last = here ? d[m] : last;
                e[m] = here ? V{} : e[m];
                found |= small;
                high = m;
                if (!any<T>(~found)) break;
            }
            if (high == l) break;
            if (step == 60) return false;
            M works = at > T(l);
            V el = works ? e[l] : all<T>(1);
            V g = (d[l + 1] - d[l]) / (el + el);
            V r = square_root<T>(g * g + T(1));
            g = last - d[l] + el / (g + (g < T(0) ? -r : r));
            V sine = all<T>(1), cosine = all<T>(1), p{};
            for (int i = high - 1; i >= l; --i) {
                M active = works & (M)(at > T(i));
                V f = sine * e[i], b = cosine * e[i];
                V squared = f * f + g * g;
                M turns = squared > T(0);
                r = square_root<T>(squared);
                V inverse = turns ? T(1) / r : V{};
                V si = f * inverse, ci = turns ? g * inverse : all<T>(1);
                V before = d[i + 1] - p;
                V q = (d[i] - before) * si + T(2) * ci * b;
                V moved = si * q;
                // The element above the block's end stays 0.
                M inside = active & (M)(at > T(i + 1));
                e[i + 1] = inside ? r : e[i + 1];
                d[i + 1] = active ? before + moved : d[i + 1];
                p = active ? moved : p;
                g = active ? ci * q - b : g;
                sine = active ? si : sine;
                cosine = active ? ci : cosine;
                c[i] = active ? ci : all<T>(1);
                s[i] = active ? si : V{};
            }
            d[l] = works ? d[l] - p : d[l];
            e[l] = works ? g : e[l];
            int row = 0;
            for (; row + 4 <= n; row += 4) rotate<T, 4>(z + row * n, n, l, high, c, s);
            for (; row < n; ++row) rotate<T, 1>(z + row * n, n, l, high, c, s);
        }
    }
    return true;
}

template <class T> constexpr int eigh_scratch(int n) { return 5 * n; }

// Eigenvalues d (n), in no order, and eigenvectors as the columns of Z (n, n) of the symmetric A (n, n), which is lost.
template <class T> bool eigh(Vector<T>* a, Vector<T>* z, Vector<T>* d, Vector<T>* scratch, int n) {
    typedef Vector<T> V;
    V size{};
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            V x = magnitude<T>(a[i * n + j]);
            // So that NaN stays.
            size = x <= size ? size : x;
        }
    V power = power_of_two<T>(size), down = T(1) / power;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) a[i * n + j] *= down;
    V *e = scratch, *t = scratch + n, *work = scratch + 2 * n;
    tridiagonalise<T>(a, d, e, t, work, n);
    reflections<T>(a, t, z, work, n);
    bool converged = implicit_ql<T>(d, e, z, work, n);
    for (int i = 0; i < n; ++i) d[i] *= power;
    return converged;
}
