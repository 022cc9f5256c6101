"""Work that nothing waits for, beside the rest of a captured CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import torch
from torch import Tensor

from spdnorm.linalg.autograd import eager

_beside: ContextVar[bool] = ContextVar("spdnorm_beside", default=False)


def beside() -> bool:
    """Whether this is such work: a library's handle and its workspace must not serve both at once.

    Examples
    --------
    >>> from spdnorm.linalg.beside import beside
    >>> beside()
    False
    """
    return _beside.get()


class Branch:
    """One branch of the graph that is being captured on the device of ``like``.

    A small decomposition keeps a GPU busy for a fifth of a millisecond and all but one of its processors idle. While a
    graph is captured, what the branch runs is recorded on a stream of its own, so that a replay overlaps it with
    what the main stream does between :meth:`run` and :meth:`join`.

    Examples
    --------
    >>> from spdnorm.linalg.beside import Branch
    >>> Branch.possible(torch.eye(2))
    False
    """

    def __init__(self, like: Tensor) -> None:
        self._device = like.device
        self._stream: torch.cuda.Stream | None = None

    @staticmethod
    def possible(like: Tensor) -> bool:
        """Whether a graph is being captured."""
        return eager() and like.is_cuda and torch.cuda.is_current_stream_capturing()

    def run(self, work: Callable[[], None]) -> None:
        """Record ``work``, which sees what the main stream has done; its tensors must live until :meth:`join`."""
        self._stream = torch.cuda.Stream(self._device)
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        token = _beside.set(True)
        try:
            with torch.cuda.stream(self._stream):
                work()
        finally:
            _beside.reset(token)

    def join(self) -> bool:
        """Let the main stream wait for the branch; whether there was any."""
        if self._stream is None:
            return False
        torch.cuda.current_stream(self._device).wait_stream(self._stream)
        return True
