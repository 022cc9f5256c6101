"""Riemannian Adam and AMSGrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import geoopt
import torch
from torch import Tensor

from spdnorm.optim.groups import Params, split_group, split_params


class RiemannianAdam(geoopt.optim.RiemannianAdam):
    """Adam with a scalar second moment for each manifold parameter (Becigneul and Ganea 2019).

    Parameters
    ----------
    params : iterable of parameters or of groups
    lr : float
        Step length in the metric, roughly.
    betas : tuple of float
    eps : float
    weight_decay : float
        On Euclidean parameters only.
    amsgrad : bool
        Keep the largest second moment.
    stabilize : int, optional
        Project onto the manifolds every so many steps, against rounding.

    Examples
    --------
    >>> from spdnorm.models import SPDNet
    >>> from spdnorm.optim import RiemannianAdam
    >>> model = SPDNet((8, 5), 3, norm="gbw", parametrized=False)  # parameters on their manifolds
    >>> optimizer = RiemannianAdam(model.parameters(), lr=1e-2)
    >>> len(optimizer.param_groups)
    2
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        stabilize: int | None = None,
    ) -> None:
        super().__init__(
            split_params(params),
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            stabilize=stabilize,
        )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, split by what weight decay may fall on."""
        for group in split_group(param_group):
            super().add_param_group(group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore, with the step counts as the integers that they were."""
        super().__setstate__(state)
        # torch's Adam turns them into float32 tensors, in which geoopt's bias correction loses its digits.
        for entry in self.state.values():
            if isinstance(entry.get("step"), Tensor):
                entry["step"] = int(entry["step"])

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """One step; ``closure`` re-evaluates the loss with gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        super().step()
        return loss
