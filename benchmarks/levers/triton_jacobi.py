"""A Jacobi eigensolver in Triton, one program a matrix, against the batched solver of cuSOLVER: a lever.

All pairs of a step are rotated at once: with columns 2k and 2k + 1 a pair, a step is A <- M^T A M and V <- V M, where M
holds the rotations followed by the fixed shuffle of a round-robin tournament. A matrix stays in registers throughout.

Run on a GPU: python benchmarks/levers/triton_jacobi.py
"""

from __future__ import annotations

from functools import partial

import torch
import triton
import triton.language as tl

from spdnorm.bench.clock import race
from spdnorm.bench.steps import graphed, samples
from spdnorm.linalg import eigh_backend
from spdnorm.linalg.eigh import eigh


@triton.jit
def _jacobi(x, shuffle, values, vectors, n, SIZE: tl.constexpr, STEPS: tl.constexpr):
    sample = tl.program_id(0)
    i = tl.arange(0, SIZE)
    rows, columns = i[:, None], i[None, :]
    inside = (rows < n) & (columns < n)
    a = tl.load(x + sample * n * n + rows * n + columns, mask=inside, other=0.0)
    moved = tl.load(shuffle + rows * SIZE + columns)
    same, partner = rows == columns, columns == (rows ^ 1)
    v = tl.where(same, 1.0, 0.0).to(a.dtype)
    for _ in range(STEPS):
        own = tl.sum(tl.where(same, a, 0.0), 1)
        other = tl.sum(tl.where(same, a, 0.0), 0)
        other = tl.sum(tl.where(partner, other[None, :], 0.0), 1)
        off = tl.sum(tl.where(partner, a, 0.0), 1)
        zero = off == 0
        zeta = (other - own) / tl.where(zero, 1.0, 2.0 * off)
        # Of both in a pair the first takes t, the second -t; where the two are equal, the first's sign decides.
        first = (i & 1) == 0
        sign = tl.where(zeta > 0, 1.0, tl.where(zeta < 0, -1.0, tl.where(first, 1.0, -1.0)))
        tangent = tl.where(zero, 0.0, sign / (tl.abs(zeta) + tl.sqrt(1.0 + zeta * zeta)))
        cosine = 1.0 / tl.sqrt(1.0 + tangent * tangent)
        sine = cosine * tangent
        rotation = tl.where(same, cosine[:, None], tl.where(partner, sine[:, None], 0.0))
        step = tl.dot(rotation, moved, out_dtype=a.dtype, input_precision="ieee")
        a = tl.dot(
            tl.trans(step),
            tl.dot(a, step, out_dtype=a.dtype, input_precision="ieee"),
            out_dtype=a.dtype,
            input_precision="ieee",
        )
        v = tl.dot(v, step, out_dtype=a.dtype, input_precision="ieee")
    diagonal = tl.sum(tl.where(same, a, 0.0), 1)
    tl.store(values + sample * SIZE + i, diagonal)
    tl.store(vectors + sample * SIZE * SIZE + rows * SIZE + columns, v)


def _tournament(size: int) -> torch.Tensor:
    """The shuffle that lets everyone meet everyone in size - 1 steps: player 0 stays, the others move on."""
    top, bottom = list(range(0, size, 2)), list(range(1, size, 2))
    place = {}
    for k in range(len(top)):
        if k == 0:
            place[top[0]] = top[0]
        else:
            place[top[k]] = top[k + 1] if k + 1 < len(top) else bottom[-1]
        place[bottom[k]] = bottom[k - 1] if k > 0 else top[1]
    shuffle = torch.zeros(size, size)
    for start, end in place.items():
        shuffle[start, end] = 1
    return shuffle


def jacobi(x: torch.Tensor, shuffle: torch.Tensor, *, sweeps: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues, in no order, and eigenvectors; the padding's eigenvalues are 0."""
    count, n = x.shape[0], x.shape[-1]
    size = shuffle.shape[0]
    values, vectors = x.new_empty(count, size), x.new_empty(count, size, size)
    _jacobi[(count,)](
        x, shuffle, values, vectors, n, SIZE=size, STEPS=sweeps * (size - 1), num_warps=4 if size <= 32 else 16
    )
    return values, vectors


def main() -> None:
    """Milliseconds in a CUDA graph, and the residual, for the sizes of the benchmarks."""
    for dtype in (torch.float64, torch.float32):
        for count, n in ((30, 12), (256, 30), (1, 30), (256, 60)):
            x = samples(count, n, device="cuda", dtype=dtype)
            shuffle = _tournament(max(16, triton.next_power_of_2(n))).to(x)
            values, vectors = jacobi(x, shuffle)
            rebuilt = ((vectors * values.unsqueeze(-2)) @ vectors.mT)[:, :n, :n]
            residual = float((rebuilt - x).abs().max())

            def cusolver(x: torch.Tensor = x) -> object:
                with eigh_backend("cusolver"):
                    return eigh(x)

            contenders = {"jacobi": graphed(partial(jacobi, x, shuffle)), "cusolver": graphed(cusolver)}
            timings = race(contenders, device=torch.device("cuda"), rounds=20, warmup=3)
            told = ", ".join(f"{k} {t.median:.3f} ms" for k, t in timings.items())
            print(f"{dtype}, {count} x {n} x {n}: {told}; residual {residual:.1e}")


if __name__ == "__main__":
    main()
