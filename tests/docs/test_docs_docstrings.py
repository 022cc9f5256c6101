"""Every public name has a docstring with an example, and every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io

import numpy as np
import pytest
import torch
from public_names import ROOMS, documented, modules, public_names, room

from spdnorm import datasets
from spdnorm.geometry import registry as geometry_registry
from spdnorm.models import registry as models_registry
from spdnorm.nn.norm import registry as norms_registry

REGISTRIES = (
    (importlib.import_module("spdnorm.datasets.registry"), "_REGISTRY"),
    (importlib.import_module("spdnorm.linalg.eigh"), "_backends"),
    (geometry_registry, "_metrics"),
    (norms_registry, "_layers"),
    (models_registry, "_models"),
)


def _tests(name: str) -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {}
    for module in modules(name):
        for test in finder.find(module, globs={}):
            if test.examples:
                # The docstrings take torch and numpy for granted, as a reader of an API page does.
                test.globs = {**vars(module), "torch": torch, "np": np}
                found[test.name] = test
    return list(found.values())


@pytest.mark.parametrize("room_name", ROOMS)
def test_every_public_name_has_an_example(room_name: str) -> None:
    module = room(room_name)
    names = [name for name in public_names(room_name) if documented(getattr(module, name))]
    without = [name for name in names if ">>>" not in (inspect.getdoc(getattr(module, name)) or "")]
    assert without == [], "add an Examples section to these docstrings"


@pytest.mark.parametrize("room_name", ROOMS)
def test_examples_run(room_name: str, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    # Everything that registers itself has done so before the registries are put aside.
    assert datasets.names()
    for module, attribute in REGISTRIES:
        monkeypatch.setattr(module, attribute, dict(getattr(module, attribute)))
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    report = io.StringIO()
    for test in _tests(room_name):
        torch.manual_seed(0)
        runner.run(test, out=report.write)
    assert runner.summarize(verbose=False).failed == 0, report.getvalue()
