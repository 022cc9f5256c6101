"""
Training with and without normalisation
=======================================

SPDNet on classes of ill-conditioned SPD matrices with each of the normalisations. One seed and one generated
problem: a picture of how training behaves, no ranking of methods.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from spdnorm.datasets import make_spd_classes
from spdnorm.models import SPDNet

torch.set_num_threads(1)
data = make_spd_classes(
    n_samples=400, n_features=12, n_classes=3, condition_number=1e4, separation=0.6, spread=0.5, metric="bwm"
)
train, test = data.where(split="train"), data.where(split="test")
x, y = (t.to(torch.float64) if t.is_floating_point() else t for t in train.tensors())
x_test, y_test = (t.to(torch.float64) if t.is_floating_point() else t for t in test.tensors())

methods = {
    "none": ("none", {}),
    "GBWBN, θ = 1/2": ("gbw", {"theta": 0.5}),
    "SPDBN": ("spd", {}),
    "SPDMBN": ("spdm", {}),
    "LieBN, LEM": ("lie", {"metric": "lem"}),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, (norm, options) in methods.items():
    torch.manual_seed(0)
    model = SPDNet((12, 8), 3, norm=norm, norm_options=options, dtype=torch.float64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses, accuracies = [], []
    for _ in range(12):
        model.train()
        for rows in torch.randperm(len(x)).split(30):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            losses.append(float(nn.functional.cross_entropy(model(x), y)))
            accuracies.append(100 * float((model(x_test).argmax(1) == y_test).double().mean()))
    axes[0].plot(losses, label=name)
    axes[1].plot(accuracies, label=name)
    print(f"{name:15} training loss {losses[-1]:.3f}  test accuracy {accuracies[-1]:.1f} %")
axes[0].set(title="training loss", xlabel="epoch")
axes[1].set(title="test accuracy (%)", xlabel="epoch")
axes[0].legend()
plt.show()
