"""Descent on the manifolds: a Bures-Wasserstein barycentre, and a network with geoopt's parameters."""

from __future__ import annotations

import geoopt
import torch
from torch import nn

from spdnorm import optim
from spdnorm.geometry import get, random_spd
from spdnorm.models import SPDNet
from spdnorm.optim import RiemannianSGD, SPDManifold

torch.set_num_threads(1)
metric = get("bwm")
xs = random_spd(5, 20, condition=100.0, generator=torch.Generator().manual_seed(0))
point = geoopt.ManifoldParameter(torch.eye(5, dtype=torch.float64), manifold=SPDManifold("bwm"))
# The gradient of the mean squared distance is -2 mean Log(x): half of it is the fixed-point iteration.
optimizer = RiemannianSGD([point], lr=0.5)
for step in range(1, 11):
    optimizer.zero_grad()
    loss = metric.squared_distance(point, xs).mean()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        error = (point.detach() - metric.mean(xs)).norm()
        print(f"step {step:2}  mean squared distance {loss.item():.6f}  distance to the barycentre {error:.1e}")

torch.manual_seed(0)
y = torch.arange(100) % 2
x = random_spd(8, 100, condition=10.0) * (1 + y[:, None, None])
model = SPDNet((8, 5), 2, norm="gbw", parametrized=False, dtype=torch.float64)
for name, parameter in model.named_parameters():
    where = parameter.manifold if isinstance(parameter, geoopt.ManifoldParameter) else "Euclidean"
    print(f"{name:24} {where}")
descent = optim.get("amsgrad", model, lr=1e-2, weight_decay=1e-4)
for _ in range(60):
    descent.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    descent.step()
print(f"cross-entropy after 60 steps of Riemannian AMSGrad: {loss.item():.3f}")
