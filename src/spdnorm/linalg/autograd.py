"""How the library's autograd functions are called: as cheaply as each situation allows.

A :class:`torch.autograd.Function` with ``setup_context`` works under functorch transforms, but each call of its
``apply`` binds the arguments through :mod:`inspect`, which costs more than the algebra of a small matrix. In eager mode
the same function is called in the older style, and directly where no gradient is asked for.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


def call(function: type[Function], *inputs: Any) -> Any:
    """``function.apply(*inputs)``; ``function`` defines ``forward`` without a context and ``setup_context``.

    Examples
    --------
    >>> from spdnorm.linalg import call
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(x):
    ...         return 2 * x
    ...     @staticmethod
    ...     def setup_context(ctx, inputs, output):
    ...         pass
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> call(Double, torch.ones(2, requires_grad=True))
    tensor([2., 2.], grad_fn=<EagerBackward>)
    """
    wanted = torch.is_grad_enabled() and any(isinstance(i, Tensor) and i.requires_grad for i in inputs)
    if torch.compiler.is_compiling():
        # Where no gradient is asked for, torch.compile inlines ``forward`` and guesses from the number of arguments,
        # which varies here, whether the first is its context: by name there is nothing to guess.
        return function.apply(*inputs) if wanted else function.forward(*inputs)
    if torch._C._functorch.maybe_current_level() is not None:
        return function.apply(*inputs)
    return _eager(function).apply(*inputs) if wanted else function.forward(*inputs)


def eager() -> bool:
    """Whether tensors hold data that may be looked at: not while tracing, nor in a functorch transform.

    Examples
    --------
    >>> from spdnorm.linalg import eager
    >>> eager()
    True
    """
    return not torch.compiler.is_compiling() and torch._C._functorch.maybe_current_level() is None


@functools.cache
def _eager(function: Any) -> Any:
    class Eager(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            output = function.forward(*inputs)
            function.setup_context(ctx, inputs, output)
            return output

        backward = staticmethod(function.backward)

    Eager.__name__ = Eager.__qualname__ = function.__name__
    return Eager
