"""
EEG from signal to decision
===========================

The paper's EEG network, convolutions, covariance, BiMap, GBWBN and logarithm, on simulated SSVEP trials,
through the scikit-learn estimator; then what each class's covariance looks like before and after the
normalisation.
"""

import matplotlib.pyplot as plt
import torch

from spdnorm.datasets import make_ssvep
from spdnorm.estimators import EEGSPDNetClassifier

torch.set_num_threads(1)
eeg = make_ssvep(n_subjects=1, n_sessions=2, trials_per_class=20, snr_db=3.0)
train, test = eeg.where(session=1), eeg.where(session=2)
scores = {}
for norm in ("none", "gbw"):
    classifier = EEGSPDNetClassifier(norm=norm, max_epochs=25, lr=5e-3, random_state=0)
    classifier.fit(train.x, train.y)
    scores[norm] = classifier.score(test.x, test.y)
    print(f"{norm:5} accuracy on the second session {scores[norm]:.2f}, chance {1 / len(eeg.class_names):.2f}")

# %%
# Inside the network
# ------------------
# The condition numbers of the matrices that go into the normalisation and that come out of it.

network = classifier.module_.eval()
with torch.no_grad():
    matrices = network.matrices(torch.as_tensor(test.x, dtype=next(network.parameters()).dtype))
    block = network.spdnet.blocks[0]
    before = block.bimap(matrices)
    after = block.norm(before)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
limit = float(before.mean(0).abs().max())
axes[0].imshow(before.mean(0), cmap="RdBu_r", vmin=-limit, vmax=limit)
axes[0].set(title="mean before", xticks=[], yticks=[])
limit = float(after.mean(0).abs().max())
axes[1].imshow(after.mean(0), cmap="RdBu_r", vmin=-limit, vmax=limit)
axes[1].set(title="mean after GBWBN", xticks=[], yticks=[])
for batch, name in ((before, "before"), (after, "after")):
    axes[2].hist(torch.linalg.cond(batch.double()).log10().numpy(), bins=20, alpha=0.6, label=name)
axes[2].set(title="condition numbers", xlabel="log10")
axes[2].legend()
plt.show()
