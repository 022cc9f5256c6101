"""spd_learn: our normalisation in its TSMNet, its layers in our SPDNet; the shapes are the same."""

from __future__ import annotations

import torch
from spd_learn.models import TSMNet
from spd_learn.modules import ReEig, SPDBatchNormMeanVar

from spdnorm.geometry import random_spd
from spdnorm.models import SPDNet
from spdnorm.nn import GBWBatchNorm

torch.manual_seed(0)
network = TSMNet(n_chans=8, n_outputs=5, n_bimap_filters=12, n_spatiotemp_filters=15)
network.spdbnorm = GBWBatchNorm(12, theta=0.5)
print("TSMNet with GBWBN:", tuple(network(torch.randn(30, 8, 125)).shape))

model = SPDNet((15, 12), 5, norm=SPDBatchNormMeanVar, norm_options={"momentum": 0.1})
model.blocks[0].rectify = ReEig()
print("SPDNet with SPDBatchNormMeanVar:", tuple(model(random_spd(15, 30, dtype=torch.float32)).shape))
