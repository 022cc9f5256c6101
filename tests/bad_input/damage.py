"""The one list of what can be wrong, or merely unusual, about a batch of matrices."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Change = Callable[[Tensor], object]


def _entry(value: float) -> Change:
    def change(x: Tensor) -> Tensor:
        x = x.clone()
        x[1, 0, 0] = value
        return x

    return change


def _asymmetric(x: Tensor) -> Tensor:
    x = x.clone()
    x[-1, 0, -1] += 0.1 * x.abs().amax()
    return x


def _indefinite(x: Tensor) -> Tensor:
    x = x.clone()
    x[2] -= 2 * torch.linalg.eigvalsh(x[2])[0] * torch.eye(x.shape[-1], dtype=x.dtype)
    return x


def _bigger(x: Tensor) -> Tensor:
    n = x.shape[-1]
    return torch.eye(n + 1, dtype=x.dtype).expand(len(x), n + 1, n + 1).contiguous()


#: Wrong everywhere: an error that names the argument.
WRONG: dict[str, Change] = {
    "nan": _entry(float("nan")),
    "inf": _entry(float("inf")),
    "-inf": _entry(float("-inf")),
    "asymmetric": _asymmetric,
    "not square": lambda x: x[..., :-1],
    "a vector": lambda x: x[0, 0],
    "integers": lambda x: x.round().long(),
    "booleans": lambda x: x > 0,
    "complex": lambda x: x.to(torch.complex128),
    "half": lambda x: x.half(),
    "numpy": lambda x: x.numpy(),
    "nested list": lambda x: x.tolist(),
    "none": lambda x: None,
}
#: Wrong for what has a size, or parameters, of its own.
WRONG_FOR_PARAMETERS: dict[str, Change] = {
    "another size": _bigger,
    "another dtype": lambda x: x.float(),
    "another device": lambda x: x.to("meta"),
}
#: Wrong for what is defined on positive semi-definite matrices.
WRONG_FOR_SPD: dict[str, Change] = {"indefinite": _indefinite}

#: Unusual, and right: the result is that of a plain copy.
UNUSUAL: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed strides": lambda x: x.mT,
    "every other": lambda x: x.repeat_interleave(2, 0)[::2],
    "batch last in memory": lambda x: x.permute(1, 2, 0).contiguous().permute(2, 0, 1),
    "flipped": lambda x: x.flip(-1, -2),
    "expanded": lambda x: x[:1].expand_as(x),
    "a window of a larger tensor": lambda x: torch.nn.functional.pad(x, (1, 1, 1, 1))[..., 1:-1, 1:-1],
    "a view that requires grad": lambda x: x.clone().requires_grad_()[:],
    "in inference mode": lambda x: x.clone(),
}
