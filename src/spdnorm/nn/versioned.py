"""State that later versions can still read: a version in every state dict, and a way from each to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from torch import nn


class VersionedState(nn.Module):
    """A module whose ``state_dict`` carries the version of its layout, as torch's own modules do.

    A class that renames or reshapes its state raises :attr:`_version` by one and says in :attr:`migrations` how a state
    dict of the version before becomes one of the new, in place. State dicts of later versions are refused.

    Examples
    --------
    >>> from spdnorm.nn import GBWBatchNorm
    >>> GBWBatchNorm(3).state_dict()._metadata[""]["version"]
    2
    """

    _version: int = 1
    #: Version -> ``migrate(state, prefix)``, which turns the entries under ``prefix`` into those of the next version.
    migrations: ClassVar[Mapping[int, Callable[[dict[str, Any], str], None]]] = {}

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        # Without metadata (a plain dict of tensors) the state is taken for one of today.
        version = local_metadata.get("version", self._version)
        if version > self._version:
            error_msgs.append(
                f"{prefix or 'the state'} was saved by a later version of spdnorm (layout {version}, known up to "
                f"{self._version}): upgrade spdnorm"
            )
        for old in range(version, self._version):
            self.migrations[old](state_dict, prefix)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )
