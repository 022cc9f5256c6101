"""Print the table of ranks and condition numbers of docs/datasets.md from the data at hand."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from spdnorm.datasets import SignalDataset, data_root, load, spectrum_report

SETS = ("mamem", "ssvep-exoskeleton", "hdm05-11class", "cmu-mocap", "japanese-vowels", "basic-motions")
LAMBDA = 1e-6


def row(name: str, root: Path) -> str:
    """Return one line of the table: rank as the data give it, conditioning of X / tr X + lambda I."""
    data = load(name, root)
    matrices = data.to_spd(dtype="float64") if isinstance(data, SignalDataset) else data
    # The signals decide the tolerance: single precision data carry noise at single precision.
    rtol = matrices.n_features * np.finfo(data.x.dtype).eps
    plain = spectrum_report(matrices.x, rtol=rtol)
    x = matrices.x.astype("float64")
    x /= np.trace(x, axis1=1, axis2=2)[:, None, None]
    damped = spectrum_report(x + LAMBDA * np.eye(matrices.n_features))
    over = [f"{count / plain.n_samples:.1%}" for count in damped.ill_conditioned().values()]
    cells = (
        f"`{name}`",
        str(len(data)),
        str(matrices.n_features),
        f"{int(plain.rank.min())} / {int(plain.quantiles('rank')[0.5])} / {int(plain.rank.max())}",
        f"{plain.quantiles('condition')[0.5]:.3g}",
        f"{damped.quantiles('condition')[0.5]:.3g}",
        *over,
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    root = data_root(sys.argv[1] if len(sys.argv) > 1 else None)
    for name in SETS:
        print(row(name, root), flush=True)


if __name__ == "__main__":
    main()
