"""The log-Cholesky metric (Lin 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.geometry.euclidean import Euclidean
from spdnorm.geometry.pullback import Chart, Pullback
from spdnorm.linalg import (
    cholesky,
    cholesky_derivative,
    exp_diagonal,
    from_log_cholesky,
    square_derivative,
    to_log_cholesky,
)


class LogCholeskyChart(Chart):
    """phi(L L^T) = strictly lower part of L plus the logarithm of its diagonal.

    Examples
    --------
    >>> from spdnorm.geometry import LogCholeskyChart
    >>> LogCholeskyChart().forward(torch.tensor([[1.0, 2.0], [2.0, 5.0]]))
    tensor([[0., 0.],
            [2., 0.]])
    """

    def forward(self, x: Tensor) -> Tensor:  # noqa: D102
        return to_log_cholesky(x)

    def inverse(self, y: Tensor) -> Tensor:  # noqa: D102
        return from_log_cholesky(y)

    def push(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        factor = cholesky(x)
        moved = cholesky_derivative(factor, u)
        diagonal = moved.diagonal(dim1=-2, dim2=-1) / factor.diagonal(dim1=-2, dim2=-1)
        return moved.tril(-1) + torch.diag_embed(diagonal)

    def pull(self, y: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        factor = exp_diagonal(y)
        diagonal = v.diagonal(dim1=-2, dim2=-1) * factor.diagonal(dim1=-2, dim2=-1)
        return square_derivative(factor, v.tril(-1) + torch.diag_embed(diagonal))


class LogCholesky(Pullback):
    """The Euclidean metric of the log-Cholesky coordinates.

    Examples
    --------
    >>> from spdnorm.geometry import LogCholesky
    >>> LogCholesky().distance(torch.eye(2), torch.tensor([[1.0, 2.0], [2.0, 5.0]]))
    tensor(2.)
    """

    def __init__(self) -> None:
        super().__init__(Euclidean(), LogCholeskyChart())

    def __repr__(self) -> str:
        return "LogCholesky()"
