"""The optimisers on problems whose optimum is known in closed form."""

from __future__ import annotations

import copy

import geoopt
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from spdnorm import optim
from spdnorm.geometry import get, random_spd
from spdnorm.models import SPDNet
from spdnorm.nn import BiMap
from spdnorm.nn.constraints import register_spd
from spdnorm.nn.semi_orthogonal import register_semi_orthogonal
from spdnorm.optim import RiemannianAdam, RiemannianSGD, SPDManifold, parameter_groups


def commuting(count: int = 6, n: int = 4, condition: float = 30.0) -> tuple[Tensor, Tensor]:
    """SPD matrices with common eigenvectors and their Bures-Wasserstein barycentre, (mean of the roots)^2."""
    g = torch.Generator().manual_seed(0)
    q = torch.linalg.qr(torch.randn(n, n, generator=g, dtype=torch.float64)).Q
    values = condition ** (torch.rand(count, n, generator=g, dtype=torch.float64) - 0.5)
    barycentre = (q * values.sqrt().mean(0).square()) @ q.mT
    return (q * values.unsqueeze(-2)) @ q.mT, barycentre


def descend(optimizer: torch.optim.Optimizer, point: Tensor, xs: Tensor, steps: int, metric: str = "bwm") -> Tensor:
    geometry = get(metric)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] *= 0.01 ** (2 / steps) if step > steps // 2 else 1
        optimizer.zero_grad()
        loss = geometry._squared_distance(point, xs).mean()
        loss.backward()
        optimizer.step()
    return point.detach()


def start(metric: str = "bwm", n: int = 4) -> geoopt.ManifoldParameter:
    return geoopt.ManifoldParameter(torch.eye(n, dtype=torch.float64), manifold=SPDManifold(metric))


@pytest.mark.parametrize(
    ("make", "steps", "tolerance"),
    [
        (lambda p: RiemannianSGD(p, lr=0.5), 40, 1e-10),
        (lambda p: RiemannianSGD(p, lr=0.1, momentum=0.7), 300, 1e-8),
        (lambda p: RiemannianSGD(p, lr=0.1, momentum=0.7, nesterov=True), 300, 1e-8),
        (lambda p: RiemannianAdam(p, lr=0.2), 300, 1e-6),
        (lambda p: RiemannianAdam(p, lr=0.2, amsgrad=True), 300, 1e-6),
        (lambda p: RiemannianSGD(p, lr=0.1, momentum=0.7, stabilize=3), 300, 1e-8),
        (lambda p: RiemannianAdam(p, lr=0.2, stabilize=3), 300, 1e-6),
    ],
    ids=["sgd", "momentum", "nesterov", "adam", "amsgrad", "momentum-stabilised", "adam-stabilised"],
)
def test_descent_reaches_the_barycentre_in_closed_form(make, steps, tolerance) -> None:  # type: ignore[no-untyped-def]
    xs, barycentre = commuting()
    point = start()
    found = descend(make([point]), point, xs, steps)
    torch.testing.assert_close(found, barycentre, rtol=0, atol=tolerance)


def test_half_a_unit_of_descent_is_the_fixed_point_iteration() -> None:
    # grad of the mean squared distance is -2 mean Log_G(X_i): with mu = 1/2 the step is G -> T G T.
    g = torch.Generator().manual_seed(4)
    xs, point = random_spd(5, 7, condition=50.0, generator=g), start(n=5)
    metric = get("bwm")
    found = descend(RiemannianSGD([point], lr=0.5), point, xs, 1)
    with torch.no_grad():
        torch.testing.assert_close(
            found, metric.exp(torch.eye(5).double(), metric.log(torch.eye(5).double(), xs).mean(0))
        )
    found = descend(RiemannianSGD([point], lr=0.5), point, xs, 60)
    torch.testing.assert_close(found, metric.mean(xs), rtol=0, atol=1e-9)


@pytest.mark.parametrize("metric", ["aim", "lem", "lcm"])
def test_descent_under_the_other_metrics_reaches_their_means(metric: str) -> None:
    g = torch.Generator().manual_seed(5)
    xs, point = random_spd(4, 6, condition=20.0, generator=g), start(metric)
    found = descend(RiemannianSGD([point], lr=0.25), point, xs, 80, metric)
    torch.testing.assert_close(found, get(metric).mean(xs), rtol=0, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["sgd", "adam", "amsgrad"])
def test_stiefel_descent_finds_the_leading_eigenspace(name: str, dtype: torch.dtype) -> None:
    # max tr(W X W^T) over orthonormal rows is the sum of the largest eigenvalues (Ky Fan).
    x = torch.diag(torch.tensor([5.0, 4.0, 1.0, 0.5, 0.1, 0.05], dtype=dtype))
    torch.manual_seed(0)
    layer = BiMap(6, 2, parametrized=False, dtype=dtype)
    optimizer = optim.get(name, layer, lr=0.05, **({"momentum": 0.5} if name == "sgd" else {}))
    for _ in range(400):
        optimizer.zero_grad()
        loss = -layer(x).diagonal().sum()
        loss.backward()
        optimizer.step()
    assert abs(loss.item() + 9.0) < 1e-3
    w = layer.weight.detach()
    assert (w @ w.mT - torch.eye(2, dtype=dtype)).abs().max() < 1e-6


class Toy(nn.Module):
    def __init__(self, parametrized: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.bimap = BiMap(5, 3, parametrized=parametrized, dtype=torch.float64)
        self.head = nn.Linear(9, 2, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.bimap(x).flatten(1))


def toy_loss(model: nn.Module) -> Tensor:
    g = torch.Generator().manual_seed(1)
    x = random_spd(5, 40, condition=5.0, generator=g)
    y = (x[:, 0, 0] > x[:, 1, 1]).long()
    return nn.functional.cross_entropy(model(x), y)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> float:
    for _ in range(steps):
        optimizer.zero_grad()
        loss = toy_loss(model)
        loss.backward()
        optimizer.step()
    return toy_loss(model).item()


def test_both_kinds_of_parameters_reach_the_same_optimum() -> None:
    # tr(W X W^T) once more, where the optimum is known, for W and for an SPD point.
    xs, barycentre = commuting()

    class Point(nn.Module):
        def __init__(self, parametrized: bool) -> None:
            super().__init__()
            eye = torch.eye(4, dtype=torch.float64)
            register_spd(self, "g", eye, parametrized=parametrized, manifold=SPDManifold("bwm"))
            w = torch.eye(4, dtype=torch.float64)[[2, 3]]
            register_semi_orthogonal(self, "w", w + 0.0, parametrized=parametrized)

        def loss(self) -> Tensor:
            turn = self.w @ xs.mean(0) @ self.w.mT
            return get("bwm")._squared_distance(self.g, xs).mean() - turn.diagonal().sum()

    losses = {}
    for parametrized, name in ((True, "torch-adam"), (True, "torch-sgd"), (False, "adam"), (False, "sgd")):
        module = Point(parametrized)
        optimizer = optim.get(name, module, lr=0.2)
        for step in range(200):
            for group in optimizer.param_groups:
                group["lr"] *= 0.95 if step > 100 else 1
            optimizer.zero_grad()
            loss = module.loss()
            loss.backward()
            optimizer.step()
        losses[parametrized, name] = module.loss().item()
    best = get("bwm").squared_distance(barycentre, xs).mean() - torch.linalg.eigvalsh(xs.mean(0))[-2:].sum()
    for key, value in losses.items():
        assert abs(value - best.item()) < 1e-8, (key, value, best.item())


#: Learning rates with which each of torch's optimisers makes its way in a few steps, where 0.05 does not.
RATES = {"Adadelta": 10.0, "SGD": 0.5, "ASGD": 0.5, "LBFGS": 0.5}
OPTIMISERS = ["Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS"]
OPTIMISERS += ["NAdam", "RAdam", "RMSprop", "Rprop", "SGD"]


@pytest.mark.parametrize("name", OPTIMISERS)
def test_any_torch_optimiser_descends_on_parametrised_weights(name: str) -> None:
    torch.manual_seed(0)
    model = SPDNet((5, 3), 2, norm="gbw", dtype=torch.float64)
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=RATES.get(name, 0.05))

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = toy_loss(model)
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(4 if name == "LBFGS" else 15)]
    assert min(losses[-3:]) < 0.9 * losses[0]
    block = model.blocks[0]
    torch.testing.assert_close(block.bimap.weight @ block.bimap.weight.mT, torch.eye(3, dtype=torch.float64))
    for value in (block.norm.bias, block.norm.metric):
        assert torch.linalg.eigvalsh(value.detach()).min() > 0


@pytest.mark.parametrize("name", ["sgd", "adam", "amsgrad", "torch-adam"])
def test_state_dict_round_trip_continues_the_same_path(name: str) -> None:
    options = {"momentum": 0.9} if name == "sgd" else {}
    model = Toy(parametrized=name.startswith("torch"))
    optimizer = optim.get(name, model, lr=0.02, weight_decay=1e-3, **options)
    train(model, optimizer, 5)
    other = copy.deepcopy(model)
    restored = optim.get(name, other, lr=0.5, **options)
    restored.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert restored.param_groups[0]["lr"] == 0.02
    assert train(model, optimizer, 7) == train(other, restored, 7)


@pytest.mark.parametrize("kind", [RiemannianSGD, RiemannianAdam])
def test_weight_decay_leaves_manifold_parameters_alone(kind: type) -> None:
    x, _ = commuting()
    point = geoopt.ManifoldParameter(x[0].clone(), manifold=SPDManifold("bwm"))
    flat = nn.Parameter(torch.ones(3, dtype=torch.float64))
    optimizer = kind([point, flat], lr=0.1, weight_decay=0.5)
    point.grad, flat.grad = torch.zeros_like(point), torch.zeros_like(flat)
    optimizer.step()
    torch.testing.assert_close(point.detach(), x[0])
    assert (flat < 1).all()
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.5, 0.0]


def test_parameter_groups_decay_euclidean_weights_only() -> None:
    module = nn.ModuleDict({"bimap": BiMap(4, 2), "norm": nn.BatchNorm1d(3), "head": nn.Linear(3, 2)})
    decayed, others = parameter_groups(module, weight_decay=0.1)
    assert {id(p) for p in decayed["params"]} == {id(p) for p in module["head"].parameters()}
    assert decayed["weight_decay"] == 0.1
    assert others["weight_decay"] == 0.0
    assert len(others["params"]) == 3
    bare = parameter_groups(BiMap(4, 2, parametrized=False), weight_decay=0.1)
    assert [group["weight_decay"] for group in bare] == [0.0]


def test_euclidean_parameters_follow_torchs_own_optimisers() -> None:
    pairs = (
        (RiemannianSGD, torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.01}),
        (RiemannianAdam, torch.optim.Adam, {"amsgrad": True, "weight_decay": 0.01}),
    )
    for ours, theirs, options in pairs:
        ends = []
        for kind in (ours, theirs):
            p = nn.Parameter(torch.tensor([3.0, -2.0], dtype=torch.float64))
            optimizer = kind([p], lr=0.01, **options)

            def closure(p: nn.Parameter = p, optimizer: torch.optim.Optimizer = optimizer) -> Tensor:
                optimizer.zero_grad()
                loss = (p**4).sum()
                loss.backward()
                return loss

            losses = [optimizer.step(closure).item() for _ in range(20)]
            assert losses[-1] < losses[0]
            ends.append(p.detach())
        # The two disagree only in where Adam adds eps.
        torch.testing.assert_close(ends[0], ends[1], rtol=1e-6, atol=1e-6)


def test_unknown_names_and_empty_parameters_are_errors() -> None:
    with pytest.raises(ValueError, match="adam, amsgrad, sgd"):
        optim.get("adamax", nn.Linear(2, 2), lr=0.1)
    with pytest.raises(ValueError, match="`params` is empty"):
        RiemannianSGD([], lr=0.1)


def test_a_parametrised_weight_can_be_assigned() -> None:
    layer = BiMap(4, 2, dtype=torch.float64)
    w = torch.linalg.qr(torch.randn(4, 2, dtype=torch.float64)).Q.mT
    layer.weight = w
    assert parametrize.is_parametrized(layer)
    torch.testing.assert_close(layer.weight, w)
