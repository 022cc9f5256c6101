"""The rooms and what each of them offers."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import spdnorm

ROOMS = (
    "linalg",
    "geometry",
    "stats",
    "functional",
    "nn",
    "models",
    "optim",
    "datasets",
    "estimators",
    "experiments",
    "figures",
    "bench",
    "testing",
)


def room(name: str) -> ModuleType:
    return importlib.import_module(f"spdnorm.{name}")


def public_names(name: str) -> list[str]:
    return list(getattr(room(name), "__all__", []))


def documented(value: object) -> bool:
    """Whether a name can carry a docstring of its own: constants and type aliases cannot, errors need no example."""
    if inspect.isclass(value):
        return not issubclass(value, Exception) and value.__module__.startswith("spdnorm")
    return inspect.isroutine(value)


def modules(name: str) -> list[ModuleType]:
    """A room and all modules in it."""
    package = room(name)
    found = [package]
    if hasattr(package, "__path__"):
        for entry in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            found.append(importlib.import_module(entry.name))
    return found


assert all(entry.name in (*ROOMS, "cli", "__main__") for entry in pkgutil.iter_modules(spdnorm.__path__))
