"""One case: a batch of symmetric positive (semi-)definite matrices, hostile in a chosen way, from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from spdnorm.linalg import eigh, symmetrize

#: What the matrices of a case look like; see :func:`matrices`.
KINDS = ("generic", "ties", "near_ties", "identity", "diagonal", "boundary", "blocks", "one_far")

#: Work of one batch, in units of n^2.5 samples: keeps the time of a case bounded at any size.
WORK = 3e5
#: But for this share of the cases.
LARGE = 1 / 400


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is drawn.

    Attributes
    ----------
    seed : int
        Draws eigenvectors and spectra, and a target's own options.
    n, batch : int
    dtype : torch.dtype
    kind : str
        One of :data:`KINDS`.
    condition, scale : float
        Of a sample: least eigenvalue scale / condition (0 on the boundary), largest scale.
    """

    seed: int
    n: int
    batch: int
    dtype: torch.dtype
    kind: str
    condition: float
    scale: float

    @property
    def rng(self) -> random.Random:
        """A generator for what a target chooses, the same at each call."""
        return random.Random(self.seed)

    @property
    def equal(self) -> bool:
        """Whether all samples are the same: unrotated, with a spectrum that is fixed at both ends."""
        unrotated = ("diagonal", "blocks", "ties", "near_ties", "one_far") if self.n == 2 else ()
        return self.kind == "identity" or self.kind in unrotated

    @property
    def definite(self) -> bool:
        """Whether rounding cannot have made the matrices singular, so that nobody may refuse them."""
        return self.kind != "boundary" and self.condition * self.n * torch.finfo(self.dtype).eps < 1e-2


def draw(seed: int) -> Case:
    """The case of this number: sizes, conditions and scales uniform in their logarithm, corners more often."""
    rng = random.Random(f"case {seed}")
    n = rng.choice((1, 2, 128)) if rng.random() < 0.05 else round(2 ** rng.uniform(0, 7))
    most = max(1, min(512, int(WORK / n**2.5)))
    batch = 1 if rng.random() < 0.05 else round(2 ** rng.uniform(0, torch.tensor(float(most)).log2().item()))
    # Small matrices are cheap: fill the batch most of the time.
    batch = most if rng.random() < 0.6 else batch
    # Once in a while as many as there may be, whatever it takes.
    rare = random.Random(f"rare {seed}")
    batch = rare.randint(most, 512) if rare.random() < LARGE else batch
    return Case(
        seed=seed,
        n=n,
        batch=batch,
        dtype=rng.choice((torch.float32, torch.float64)),
        kind=rng.choice(KINDS),
        condition=10 ** rng.uniform(0, 15),
        scale=1.0 if rng.random() < 0.4 else 10 ** rng.uniform(-12, 12),
    )


def matrices(case: Case, *, stream: int = 0, samples: int | None = None) -> Tensor:
    """The case's matrices (batch, n, n): ``generic`` spectra log-uniform, ``ties`` equal in pairs, ``near_ties`` a few
    roundings apart, ``identity`` multiples of it, ``diagonal`` unrotated, ``boundary`` of random rank, ``blocks``
    block-diagonal up to a permutation, ``one_far`` a single small eigenvalue.
    """
    generator = torch.Generator().manual_seed(2 * case.seed + 1 + 7919 * stream)
    n, size = case.n, case.batch if samples is None else samples

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    exponent = uniform(size, n).sort(-1).values
    if n > 1:
        exponent[:, 0], exponent[:, -1] = 0.0, 1.0
    # A number has no condition: of one by one matrices none is further below the scale than this.
    values = (case.condition if n > 1 else min(case.condition, 1e3)) ** (exponent - 1)
    if case.kind in ("ties", "near_ties"):
        pairs = torch.arange(n) // 2 * 2
        pairs[max(0, n - 2 + n % 2) :] = n - 1
        values = values[:, pairs]
    if case.kind == "near_ties":
        values = values * (1 + 8 * torch.finfo(case.dtype).eps * uniform(size, n))
    if case.kind == "identity":
        values = values[:, -1:].expand(-1, n)
    if case.kind == "one_far":
        values = torch.where(torch.arange(n) > 0, 1.0, values)
    if case.kind == "boundary":
        rank = (uniform(size, 1) * n).floor()
        values = torch.where(torch.arange(n) < n - rank, 0.0, values)
    values = values * case.scale
    if case.kind in ("identity", "diagonal"):
        return torch.diag_embed(values).to(case.dtype)
    frame = torch.randn(size, n, n, generator=generator, dtype=torch.float64)
    if case.kind == "blocks":
        label = torch.arange(n) * 3 // max(n, 1)
        frame = frame * (label[:, None] == label) + torch.eye(n, dtype=torch.float64)
        order = torch.randperm(n, generator=generator)
    vectors = torch.linalg.qr(frame).Q
    x = (vectors * values.unsqueeze(-2)) @ vectors.mT
    if case.kind == "blocks":
        x = x[:, order][:, :, order]
    return symmetrize(x.to(case.dtype))


def signals(case: Case, *, samples: int | None = None) -> Tensor:
    """Signals (batch, n, T), T = 2 n + 8: roots of the case's matrices, in a random order of times, and zeros."""
    x = matrices(case, samples=samples).double()
    values, vectors = eigh(x)
    root = vectors * values.clamp_min(0.0).sqrt().unsqueeze(-2)
    generator = torch.Generator().manual_seed(case.seed)
    order = torch.randperm(2 * case.n + 8, generator=generator)
    return torch.nn.functional.pad(root, (0, case.n + 8))[..., order].to(case.dtype)
