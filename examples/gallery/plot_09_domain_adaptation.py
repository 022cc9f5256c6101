"""
Sessions that drift, and domain-specific statistics
===================================================

Simulated SSVEP recordings of one subject over several sessions, each with a mixing of its own. With statistics
of its own for each session, the covariances of all sessions lie about one point; a session that was never
trained on is adapted to without labels.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.decomposition import PCA

from spdnorm.datasets import make_ssvep
from spdnorm.linalg import logm, vec
from spdnorm.nn import DomainBatchNorm, SPDMomentumBatchNorm

eeg = make_ssvep(n_subjects=1, n_sessions=4, trials_per_class=12, session_drift=0.5, snr_db=0.0)
x, _ = eeg.to_spd(normalize="trace", regularization=1e-4).tensors()
x = x.to(torch.float64)
session = torch.from_numpy(np.asarray(eeg.metadata["session"]) - 1)

# %%
# Train on three sessions, adapt to the fourth
# --------------------------------------------

layer = DomainBatchNorm(SPDMomentumBatchNorm(x.shape[-1], dtype=torch.float64), num_domains=4)
known = session < 3
for _ in range(60):
    layer(x[known], session[known])
layer.eval()
try:
    layer(x, session)
except ValueError as error:
    print("before adaptation:", error)
layer.adapt(x[~known], 3)
with torch.no_grad():
    centred = layer(x, session)

# %%
# Tangent vectors, in two dimensions
# ----------------------------------

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for axis, batch, title in zip(axes, (x, centred), ("as recorded", "domain-specific normalisation"), strict=True):
    plane = PCA(2).fit_transform(vec(logm(batch)).numpy())
    for number in range(4):
        rows = (session == number).numpy()
        label = f"session {number + 1}" + (" (adapted)" if number == 3 else "")
        axis.scatter(*plane[rows].T, s=10, label=label)
    axis.set(title=title, xlabel="first component", ylabel="second component")
axes[0].legend()
plt.show()
