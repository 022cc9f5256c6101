"""braindecode: the paper's EEG network in an EEGClassifier, which tells it the signal's sizes."""

from __future__ import annotations

import warnings

import numpy as np
import torch

warnings.filterwarnings("ignore")

from braindecode import EEGClassifier  # noqa: E402

from spdnorm.models import EEGSPDNet  # noqa: E402

rng = np.random.default_rng(0)
torch.manual_seed(0)
torch.set_num_threads(1)
y = np.arange(100) % 5
time = np.arange(125) / 125
frequencies = np.array([6.66, 7.50, 8.57, 10.00, 12.00])
x = rng.normal(size=(100, 8, 125))
x += 1.5 * np.sin(2 * np.pi * (frequencies[y, None] * time + rng.random((100, 1))))[:, None]

classifier = EEGClassifier(
    module=EEGSPDNet,
    module__norm="gbw",
    module__norm_options={"theta": 0.5},
    module__spd_dtype=torch.float64,
    criterion=torch.nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    optimizer__lr=5e-3,
    max_epochs=30,
    batch_size=30,
    train_split=None,
    verbose=0,
)
classifier.fit(x[:80].astype(np.float32), y[:80])
module = classifier.module_
print(f"{module.n_chans} channels, {module.n_times} samples, {module.n_outputs} classes")
print(f"training loss {classifier.history[0]['train_loss']:.3f} -> {classifier.history[-1]['train_loss']:.3f}")
print(f"accuracy on new trials {(classifier.predict(x[80:].astype(np.float32)) == y[80:]).mean():.2f} (chance 0.20)")
