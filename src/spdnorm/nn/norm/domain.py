"""Domain-specific statistics with shared parameters, for any normalisation (SPDDSMBN: Kobler et al. 2022)."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import Tensor

from spdnorm.linalg import check_tensor
from spdnorm.nn.norm.base import RiemannianBatchNorm
from spdnorm.nn.versioned import VersionedState
from spdnorm.stats import anywhere


class DomainBatchNorm(VersionedState):
    """One normalisation layer, with running statistics of its own for each domain (subject, session, ...).

    Parameters
    ----------
    norm : RiemannianBatchNorm
        Its ``bias``, ``scale`` and other parameters are shared by all domains; its statistics are not used.
    num_domains : int
        Domains are numbered 0 to ``num_domains - 1``. Reserve numbers for those to come: one that training never saw
        is an error in evaluation until :meth:`adapt` has been given data of it.

    Notes
    -----
    The statistics are buffers whose first axis is the domain, named as in the layer. Domains in a batch are
    normalised one after the other, each by its own samples.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import DomainBatchNorm, SPDBatchNorm
    >>> layer = DomainBatchNorm(SPDBatchNorm(4, dtype=torch.float64), num_domains=3)
    >>> x, domains = random_spd(4, 20), torch.arange(20) % 2
    >>> layer(x, domains).shape, layer.seen
    (torch.Size([20, 4, 4]), [0, 1])
    >>> layer.eval().adapt(random_spd(4, 30), 2)  # unlabelled data of a new subject
    >>> layer.seen
    [0, 1, 2]
    """

    def __init__(self, norm: RiemannianBatchNorm, num_domains: int) -> None:
        super().__init__()
        if not isinstance(norm, RiemannianBatchNorm):
            raise TypeError(f"`norm` must be a normalisation layer of spdnorm.nn, got {type(norm).__name__}")
        if not norm.track_running_stats:
            raise ValueError("`norm` must track running statistics: create it with track_running_stats=True")
        if num_domains < 1:
            raise ValueError(f"`num_domains` must be 1 or more, got {num_domains}")
        self.num_domains = num_domains
        self.norm = copy.deepcopy(norm)
        self._names = [name for name, buffer in self.norm.named_buffers(recurse=False) if buffer is not None]
        for name in self._names:
            buffer = getattr(self.norm, name)
            stacked = buffer.unsqueeze(0).repeat(num_domains, *[1] * buffer.dim())
            # The layer itself keeps no statistics: its buffers are set to a domain's for the length of a call.
            delattr(self.norm, name)
            self.norm.register_buffer(name, None)
            self.register_buffer(name, stacked)

    def _of(self, domain: int) -> RiemannianBatchNorm:
        """The layer with a domain's statistics: views of the buffers here.

        Made for each call and sharing all else with ``norm``, so that threads do not meet in it.
        """
        layer = object.__new__(type(self.norm))
        own = {name: self._buffers[name][domain] for name in self._names}  # type: ignore[index]
        layer.__dict__.update({**self.norm.__dict__, "_buffers": {**self.norm._buffers, **own}})
        return layer

    def _check(self, x: Tensor, domains: Tensor) -> Tensor:
        check_tensor(x, "x")
        if domains.dim() != 1 or domains.shape[0] != x.shape[0] or domains.dtype.is_floating_point:
            raise ValueError(
                f"`domains` must hold one whole number for each of the {x.shape[0]} samples, got shape "
                f"{tuple(domains.shape)} of {domains.dtype}"
            )
        present = domains.unique()
        if present.numel() and not (int(present[0]) >= 0 and int(present[-1]) < self.num_domains):
            raise ValueError(
                f"`domains` must lie in 0..{self.num_domains - 1}, got {int(present[0])}..{int(present[-1])}: "
                "raise num_domains"
            )
        return present

    def _present(self, x: Tensor, domains: Tensor) -> Tensor:
        """The domains to go through: those of all processes, if statistics are taken over all of them."""
        present = self._check(x, domains)
        if not self.norm.shared_with_others:
            return present
        mask = torch.zeros(self.num_domains, dtype=torch.bool, device=x.device)
        mask[present] = True
        return anywhere(mask, group=self.norm.process_group).nonzero().squeeze(-1)

    @property
    def seen(self) -> list[int]:
        """Domains that have statistics."""
        count: Tensor = self.num_batches_tracked  # type: ignore[assignment]
        return count.nonzero().flatten().tolist()

    def forward(self, x: Tensor, domains: Tensor) -> Tensor:
        """Normalise each sample of ``x`` (N, ..., n, n) by the statistics of its domain ``domains`` (N,)."""
        present = self._present(x, domains) if self.training else self._check(x, domains)
        missing = sorted(set(present.tolist()) - set(self.seen))
        if missing and not self.training:
            raise ValueError(
                f"no statistics for domain(s) {', '.join(map(str, missing))} (seen: {self.seen}): call "
                "adapt(x, domain) with unlabelled data of each first"
            )
        out = torch.empty_like(x)
        for domain in present.tolist():
            rows = (domains == domain).nonzero().squeeze(-1)
            out = out.index_copy(0, rows, self._of(domain)(x[rows]))
        return out

    @torch.no_grad()
    def adapt(self, x: Tensor, domain: int) -> None:
        """Give ``domain`` the exact statistics of unlabelled ``x`` (N, ..., n, n)."""
        self.refit(x, torch.full((x.shape[0],), domain, device=x.device))

    @torch.no_grad()
    def refit(self, x: Tensor, domains: Tensor) -> None:
        """Replace the statistics of each domain present by the exact ones of its samples."""
        for domain in self._present(x, domains).tolist():
            self._of(domain).refit(x[domains == domain])
            count: Tensor = self.num_batches_tracked  # type: ignore[assignment]
            count[domain].clamp_(min=1)

    def reset_running_stats(self) -> None:
        """Forget all domains."""
        for domain in range(self.num_domains):
            self._of(domain).reset_running_stats()

    def reset_parameters(self) -> None:
        """Forget all domains and reset the shared parameters."""
        self.reset_running_stats()
        self.norm.reset_parameters()

    def extra_repr(self) -> str:
        """Number of domains."""
        return f"num_domains={self.num_domains}"


def domain_ids(labels: Iterable[object]) -> tuple[Tensor, list[object]]:
    """Number arbitrary domain labels: ids (N,) and the label of each id, in order of first appearance.

    Examples
    --------
    >>> from spdnorm.nn import domain_ids
    >>> domain_ids(["anna", "ben", "anna"])
    (tensor([0, 1, 0]), ['anna', 'ben'])
    """
    known: dict[object, int] = {}
    ids = [known.setdefault(label, len(known)) for label in labels]
    return torch.tensor(ids, dtype=torch.long), list(known)
