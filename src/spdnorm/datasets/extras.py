"""Optional packages, imported when used."""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import MissingExtraError

__all__ = ["require"]


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import ``module`` or say which extra brings it.

    Parameters
    ----------
    module : str
        Dotted name of the module.
    extra : str
        Extra of this package that installs it.
    purpose : str
        What it is needed for, for the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package {module.partition('.')[0]!r}, which could not be imported "
            f"({error}); install it with: pip install 'spdnorm[{extra}]'"
        ) from error
