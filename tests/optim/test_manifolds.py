"""The SPD manifolds against finite differences and the geometry they wrap."""

from __future__ import annotations

import geoopt
import pytest
import torch

from spdnorm.geometry import GeneralizedBuresWasserstein, get, random_spd, random_symmetric
from spdnorm.nn.descent import guarded_exp
from spdnorm.optim import RowStiefel, SPDManifold

METRICS = {
    "aim": get("aim"),
    "aim-beta": get("aim", alpha=1.5, beta=0.3),
    "lem": get("lem", alpha=0.7, beta=0.1),
    "lcm": get("lcm"),
    "bwm": get("bwm"),
    "bwm-half": get("bwm", theta=0.5),
    "gbwm": GeneralizedBuresWasserstein(random_spd(4, generator=torch.Generator().manual_seed(3))),
    "aim-third": get("aim", theta=1 / 3),
}


@pytest.mark.parametrize("name", METRICS)
def test_riemannian_gradient_represents_the_differential(name: str) -> None:
    manifold = SPDManifold(METRICS[name])
    g = torch.Generator().manual_seed(0)
    x, target = random_spd(4, 3, generator=g), random_spd(4, 3, generator=g)
    x.requires_grad_()
    (gradient,) = torch.autograd.grad((x.logdet() + (x * target).sum((-2, -1)) ** 2).sum(), x)
    v = random_symmetric((3, 4, 4), generator=g)
    with torch.no_grad():
        left = manifold.inner(x, manifold.egrad2rgrad(x, gradient), v)
    torch.testing.assert_close(left, (gradient * v).sum((-2, -1)), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_steps_stay_positive_definite_and_agree_with_exp_inside_the_domain(name: str) -> None:
    metric = METRICS[name]
    manifold = SPDManifold(metric)
    g = torch.Generator().manual_seed(1)
    x = random_spd(4, 5, generator=g)
    u = metric.random_tangent(x, generator=g)
    torch.testing.assert_close(manifold.retr(x, 0.05 * u), metric.exp(x, 0.05 * u), rtol=1e-10, atol=1e-10)
    far = manifold.retr(x, 5.0 * u)
    assert (torch.linalg.eigvalsh(far) > 0).all()
    manifold.assert_check_point_on_manifold(far)


def test_bures_wasserstein_step_stops_short_of_the_border() -> None:
    metric, x = get("bwm"), torch.eye(3, dtype=torch.float64)
    u = -4.0 * torch.eye(3, dtype=torch.float64)  # L = -2 I: the exponential would fold back to I
    assert not metric.in_domain(x, u)
    torch.testing.assert_close(metric.exp(x, u), x)
    torch.testing.assert_close(guarded_exp(metric, x, u), 0.01 * x)


@pytest.mark.parametrize("name", ["bwm", "bwm-half", "gbwm"])
def test_transport_is_linear_and_the_identity_at_rest(name: str) -> None:
    manifold = SPDManifold(METRICS[name])
    g = torch.Generator().manual_seed(2)
    x, y, v = random_spd(4, generator=g), random_spd(4, generator=g), random_symmetric((4, 4), generator=g)
    torch.testing.assert_close(manifold.transp(x, x, v), v)
    torch.testing.assert_close(manifold.transp(x, y, 2.5 * v), 2.5 * manifold.transp(x, y, v))


def test_manifold_points_and_checks() -> None:
    manifold = SPDManifold("aim")
    assert manifold == SPDManifold("aim")
    assert manifold != SPDManifold("bwm")
    assert manifold.check_point_on_manifold(manifold.random(2, 3, 3, dtype=torch.float64))
    torch.testing.assert_close(manifold.origin(3, 3).data, torch.eye(3))
    assert not manifold.check_point_on_manifold(-torch.eye(3))
    assert not manifold.check_point_on_manifold(torch.ones(2, 3))
    broken = torch.diag(torch.tensor([1.0, -1.0]))
    assert manifold.check_point_on_manifold(manifold.projx(broken))
    x, y = random_spd(3), random_spd(3)
    torch.testing.assert_close(manifold.dist(x, y), get("aim").distance(x, y))
    torch.testing.assert_close(manifold.expmap(x, manifold.logmap(x, y)), y)


def test_row_stiefel_is_geoopts_stiefel_transposed() -> None:
    rows, columns = RowStiefel(), geoopt.EuclideanStiefel()
    torch.manual_seed(0)
    x = rows.random(2, 3, 5, dtype=torch.float64).data
    assert rows.check_point_on_manifold(x)
    assert not rows.check_point_on_manifold(x.mT)
    e = torch.randn(2, 3, 5, dtype=torch.float64)
    u = rows.proju(x, e)
    assert rows.check_vector_on_tangent(x, u)
    torch.testing.assert_close(u, columns.proju(x.mT, e.mT).mT)
    torch.testing.assert_close(rows.egrad2rgrad(x, e), columns.egrad2rgrad(x.mT, e.mT).mT)
    torch.testing.assert_close(rows.retr(x, u), columns.retr(x.mT.contiguous(), u.mT).mT)
    torch.testing.assert_close(rows.projx(x + 0.1 * e), columns.projx((x + 0.1 * e).mT).mT)
    y, v = rows.expmap(x, 0.3 * u), rows.transp(x, rows.retr(x, u), u)
    assert rows.check_point_on_manifold(y)
    assert rows.check_vector_on_tangent(rows.retr(x, u), v)
