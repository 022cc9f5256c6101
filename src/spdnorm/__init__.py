"""Normalisation of SPD-matrix features inside PyTorch networks."""

__version__ = "0.1.0"
