"""Count the matrices that are decomposed: the price of a layer, as a number that a test can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from spdnorm.linalg import eigh_backend

_KINDS = {
    "_linalg_eigh": "eigh",
    "linalg_eigh": "eigh",
    "_linalg_svd": "svd",
    "linalg_svd": "svd",
    "linalg_cholesky_ex": "cholesky",
    "cholesky": "cholesky",
}


@dataclass
class DecompositionCount:
    """How many matrices have been decomposed, and in how many calls.

    Attributes
    ----------
    eigh, svd, cholesky : int
        Matrices: a batch of 30 counts 30.
    calls : int
        Calls of ``eigh`` and ``svd``: a batch counts 1.

    Examples
    --------
    >>> from spdnorm.testing import DecompositionCount
    >>> DecompositionCount()
    DecompositionCount(eigh=0, svd=0, cholesky=0, calls=0)
    """

    eigh: int = 0
    svd: int = 0
    cholesky: int = 0
    calls: int = 0


class _Counter(TorchDispatchMode):
    def __init__(self, count: DecompositionCount) -> None:
        super().__init__()
        self.count = count

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        # Below autograd and vmap: each decomposition, forward or backward, passes here once, as its kernel runs.
        kind = _KINDS.get(func.overloadpacket.__name__)
        if kind is not None:
            matrices = args[0].shape[:-2].numel()
            setattr(self.count, kind, getattr(self.count, kind) + matrices)
            self.count.calls += kind != "cholesky"
        return func(*args, **(kwargs or {}))


@contextmanager
def count_decompositions() -> Iterator[DecompositionCount]:
    """Count the matrices that go through torch's ``eigh``, ``svd`` and ``cholesky`` within the block.

    Forward and backward passes both count. Within the block torch is the eigensolver: compiled code, which takes the
    same steps, and others would not be seen.

    Examples
    --------
    >>> with count_decompositions() as count:
    ...     _ = torch.linalg.eigh(torch.eye(4).expand(10, 4, 4))
    >>> count.eigh, count.calls
    (10, 1)
    """
    count = DecompositionCount()
    with eigh_backend("torch"), _Counter(count):
        yield count


def count_eigh(function: Any, *args: Any) -> int:
    """Matrices that ``function(*args)`` sends through ``eigh`` or ``svd``.

    Examples
    --------
    >>> from spdnorm.testing import count_eigh
    >>> count_eigh(torch.linalg.eigh, torch.eye(3).expand(10, 3, 3))
    10
    """
    with count_decompositions() as count:
        function(*args)
    return count.eigh + count.svd


__all__ = ["DecompositionCount", "count_decompositions", "count_eigh"]
