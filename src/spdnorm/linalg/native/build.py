"""Compile the C++ beside this module on first use, and keep what came of it.

Any C++17 compiler of the GCC or Clang kind does. The result lies in the user's cache under a name that tells the
sources, the flags and the processor, so that a change of any of them compiles anew and a shared home directory serves
different machines.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch

_log = logging.getLogger("spdnorm")

FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-shared",
    "-fPIC",
    "-pthread",
    "-w",
)
HERE = Path(__file__).parent
#: Set to 0 to do without compiled code.
SWITCH = "SPDNORM_NATIVE"


class BuildError(RuntimeError):
    """Why there is no compiled code."""


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "spdnorm" / "native"


def _processor() -> str:
    """What -march=native looks at."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    told = sorted({line for line in lines if line.split(":")[0].strip() in ("flags", "Features", "model name")})
    return "\n".join([platform.machine(), platform.processor(), torch.backends.cpu.get_cpu_capability(), *told])


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    raise BuildError("no C++ compiler was found: install g++ or clang++, or name one in CXX")


def _name(source: Path, compiler: str) -> str:
    state = hashlib.sha256()
    for part in (compiler, " ".join(FLAGS), _processor()):
        state.update(part.encode())
    for path in sorted({*HERE.glob("*.hpp"), *source.parent.glob("*.hpp"), source}):
        state.update(path.name.encode())
        state.update(path.read_bytes())
    return f"{source.stem}-{state.hexdigest()[:20]}.so"


def _compile(source: Path, compiler: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name
        command = [compiler, *FLAGS, f"-I{HERE}", str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"{compiler} could not compile {source.name}:\n{done.stderr.strip()[-2000:]}")
        # At once, so that processes that start together find a whole file or none.
        made.replace(target)


def _open(source: Path) -> ctypes.CDLL:
    if os.environ.get(SWITCH) == "0":
        raise BuildError(f"{SWITCH}=0 switches it off")
    if platform.system() == "Windows":
        raise BuildError("there is none for Windows yet")
    compiler = _compiler()
    target = _cache() / _name(source, compiler)
    if not target.exists():
        _compile(source, compiler, target)
    found = ctypes.CDLL(str(target))
    if (addresses := _openmp()) is not None:
        found.use_threads_of(*addresses)
    return found


def _openmp() -> list[ctypes.c_void_p] | None:
    """GOMP_parallel, omp_get_thread_num and omp_get_num_threads of the OpenMP runtime that torch has loaded."""
    home = Path(torch.__file__).parent
    for path in sorted(p for folder in (home / "lib", home.parent / "torch.libs") for p in folder.glob("*omp*")):
        if not path.name.startswith(("libgomp", "libomp", "libiomp")):
            continue
        try:
            runtime = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            names = "GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads"
            return [ctypes.cast(getattr(runtime, name), ctypes.c_void_p) for name in names]
        except (OSError, AttributeError):
            # Not the one that is loaded, or not all of what is needed.
            continue
    return None


@cache
def library(source: Path) -> ctypes.CDLL | BuildError:
    """The compiled ``source``, or why it is not to be had; tried once a process.

    Examples
    --------
    >>> from spdnorm.linalg.native.build import HERE, library
    >>> found = library(HERE / "matrices.cpp")
    """
    try:
        return _open(source)
    except (BuildError, OSError) as error:
        _log.info("no compiled code, torch does its work: %s", error)
        return error if isinstance(error, BuildError) else BuildError(str(error))


@cache
def reason(source: Path) -> str | None:
    """Why there is no compiled ``source``; None where there is.

    Examples
    --------
    >>> from spdnorm.linalg.native.build import HERE, reason
    >>> found = reason(HERE / "matrices.cpp")
    """
    found = library(source)
    return str(found) if isinstance(found, BuildError) else None


@cache
def function(source: Path, name: str) -> Any:
    """A function of the compiled ``source``, which returns a whole number of 64 bits.

    Examples
    --------
    >>> from spdnorm.linalg.native.build import HERE, function, reason
    >>> if reason(HERE / "matrices.cpp") is None:
    ...     solve = function(HERE / "matrices.cpp", "eigh_float64")
    """
    found = library(source)
    if isinstance(found, BuildError):
        raise RuntimeError(f"there is no compiled code: {found}")
    compiled = getattr(found, name)
    compiled.restype = ctypes.c_int64
    return compiled
