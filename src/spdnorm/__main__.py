"""``python -m spdnorm``."""

from spdnorm.cli import main

main()
