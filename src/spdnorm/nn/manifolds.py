"""The SPD matrices under any metric of the library, as a geoopt manifold."""

from __future__ import annotations

from typing import Any

import geoopt
import torch
from torch import Tensor

from spdnorm.geometry import Metric, get, random_spd
from spdnorm.linalg import spectrum, symmetrize
from spdnorm.nn.descent import guarded_exp, riemannian_gradient, vector_transport


class SPDManifold(geoopt.Manifold):
    """SPD matrices for :class:`geoopt.ManifoldParameter` and the optimisers built on it.

    Parameters
    ----------
    metric : str or Metric
        A name that :func:`spdnorm.geometry.get` knows (``"bwm"``, ``"aim"``, ``"lem"``, ``"lcm"``), or a metric.
    **options
        For the metric, such as ``theta``.

    Notes
    -----
    The retraction is the exponential map, so that plain descent is the paper's
    G_{t+1} = Exp_G(-mu Pi_G(grad)). Under the Bures-Wasserstein metric a step that would leave the domain of Exp is
    shortened to 0.9 of the way, and momenta are carried by keeping their horizontal lifts. However many such steps
    follow one another, points stay definite in floating point: :meth:`projx`.

    Examples
    --------
    >>> from spdnorm.optim import SPDManifold
    >>> manifold = SPDManifold()
    >>> manifold.dist(torch.eye(2), 4 * torch.eye(2)) ** 2
    tensor(2.0000)
    """

    ndim = 2
    reversible = False
    name = "SPD"

    def __init__(self, metric: str | Metric = "bwm", **options: Any) -> None:
        super().__init__()
        self.metric = get(metric, **options) if isinstance(metric, str) else metric

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SPDManifold) and repr(self.metric) == repr(other.metric)

    def __hash__(self) -> int:
        return hash(repr(self.metric))

    def _check_shape(self, shape: tuple[int, ...], name: str) -> tuple[bool, str | None]:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            return False, f"`{name}` must have shape (..., n, n), got {tuple(shape)}"
        return True, None

    def _check_point_on_manifold(self, x: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5) -> tuple[bool, str | None]:
        if not torch.allclose(x, x.mT, atol=atol, rtol=rtol):
            return False, "`x` is not symmetric"
        if bool((torch.linalg.cholesky_ex(x).info != 0).any()):
            return False, "`x` is not positive definite"
        return True, None

    def _check_vector_on_tangent(
        self, x: Tensor, u: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5
    ) -> tuple[bool, str | None]:
        if not torch.allclose(u, u.mT, atol=atol, rtol=rtol):
            return False, "`u` is not symmetric"
        return True, None

    def projx(self, x: Tensor) -> Tensor:
        """Symmetric part, eigenvalues raised to 10 n eps times the largest, n the size; inside, x to the last bit."""
        x = symmetrize(x)
        s = spectrum(x)
        floor = 10 * x.shape[-1] * torch.finfo(x.dtype).eps * s.values.abs().amax(-1, keepdim=True)
        raised = (s.vectors * torch.maximum(s.values, floor).unsqueeze(-2)) @ s.vectors.mT
        return torch.where(s.values[..., :1, None] < floor.unsqueeze(-1), symmetrize(raised), x)

    def proju(self, x: Tensor, u: Tensor) -> Tensor:
        """Symmetric part."""
        return symmetrize(u)

    def egrad2rgrad(self, x: Tensor, u: Tensor) -> Tensor:
        """The Riemannian gradient for a Euclidean one."""
        return riemannian_gradient(self.metric, x, symmetrize(u))

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        """<u, v>_x, shape (...) or, with ``keepdim``, (..., 1, 1)."""
        value = self.metric._inner(x, u, u if v is None else v)
        return value[..., None, None] if keepdim else value

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        """Exp_x(u), shortened where it would leave its domain, and kept definite in floating point."""
        return self.projx(guarded_exp(self.metric, x, u))

    retr = expmap

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        """The tangent vector at ``x`` that leads to ``y``."""
        return self.metric._log(x, y)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Vector transport from ``x`` to ``y``."""
        return symmetrize(vector_transport(self.metric, x, y, v))

    def dist2(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        """Squared geodesic distance."""
        value = self.metric._squared_distance(x, y)
        return value[..., None, None] if keepdim else value

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        """Geodesic distance."""
        return self.dist2(x, y, keepdim=keepdim).clamp_min(0).sqrt()

    def random(
        self, *size: int, dtype: torch.dtype | None = None, device: torch.device | None = None, **kwargs: Any
    ) -> geoopt.ManifoldTensor:
        """Random SPD matrices of this shape."""
        dtype = dtype or torch.get_default_dtype()
        return geoopt.ManifoldTensor(random_spd(size[-1], *size[:-2], dtype=dtype, device=device), manifold=self)

    def origin(
        self, *size: int, dtype: torch.dtype | None = None, device: torch.device | None = None, seed: int | None = 42
    ) -> geoopt.ManifoldTensor:
        """The identity."""
        eye = torch.eye(size[-1], dtype=dtype, device=device).expand(size).clone()
        return geoopt.ManifoldTensor(eye, manifold=self)

    def extra_repr(self) -> str:
        """The metric."""
        return repr(self.metric)
