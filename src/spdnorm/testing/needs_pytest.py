"""pytest, whose absence is explained: the law suites run under it, and nothing else of the library asks for it."""

try:
    import pytest
except ImportError as error:
    raise ImportError(
        "the law suites of spdnorm.testing run under pytest, which is not installed: pip install 'spdnorm[dev]' "
        "(or pip install pytest)"
    ) from error

__all__ = ["pytest"]
