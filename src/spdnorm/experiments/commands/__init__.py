"""The command line of the experiments: ``spdnorm train``, ``reproduce`` and ``report``."""
