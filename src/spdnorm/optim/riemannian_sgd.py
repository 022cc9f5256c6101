"""Riemannian stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import geoopt
import torch
from torch import Tensor

from spdnorm.optim.groups import Params, split_group, split_params


class RiemannianSGD(geoopt.optim.RiemannianSGD):
    """G <- Exp_G(-lr Pi_G(grad)) under the metric of each parameter (Bonnabel 2013; paper, Eq. (grad)).

    Manifold parameters take their manifold's gradient, retraction and transport; others plain SGD.

    Parameters
    ----------
    params : iterable of parameters or of groups
    lr : float
    momentum : float
        The momentum is a tangent vector, transported with the point.
    dampening : float
        Of the momentum.
    weight_decay : float
        On Euclidean parameters only.
    nesterov : bool
    stabilize : int, optional
        Project onto the manifolds every so many steps, against rounding.

    Examples
    --------
    >>> from spdnorm.models import SPDNet
    >>> from spdnorm.optim import RiemannianSGD
    >>> model = SPDNet((8, 5), 3, norm="gbw", parametrized=False)
    >>> optimizer = RiemannianSGD(model.parameters(), lr=1e-2)
    >>> len(optimizer.param_groups)
    2
    """

    def __init__(
        self,
        params: Params,
        lr: float,
        *,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        stabilize: int | None = None,
    ) -> None:
        super().__init__(
            split_params(params),
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            stabilize=stabilize,
        )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, split by what weight decay may fall on."""
        for group in split_group(param_group):
            super().add_param_group(group)

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """One step; ``closure`` re-evaluates the loss with gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if group["momentum"] > 0:
                for p in group["params"]:
                    # geoopt would start from the Euclidean gradient, which is no tangent vector.
                    if p.grad is not None and not self.state[p]:
                        self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        super().step()
        return loss
