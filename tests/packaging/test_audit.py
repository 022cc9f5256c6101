"""The audit of dependencies: a vulnerability fails it, a database that cannot be asked is told and does not."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess

from isolated import ROOT

spec = importlib.util.spec_from_file_location("spdnorm_audit", ROOT / "scripts" / "audit.py")
assert spec is not None
assert spec.loader is not None
audit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit)

CLEAN = {"name": "numpy", "version": "2.3.5", "vulns": []}
HOLE = {"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}
BAD = {"name": "leaky", "version": "1.0", "vulns": [HOLE, {**HOLE, "id": "PYSEC-2", "fix_versions": []}]}
UNKNOWN = {"name": "local", "skip_reason": "Dependency not found on PyPI"}


def said(*packages: dict[str, object]) -> tuple[int, str]:
    return audit.verdict(json.dumps({"dependencies": packages, "fixes": []}))


def test_a_vulnerability_fails_and_is_named() -> None:
    status, text = said(CLEAN, BAD, UNKNOWN)
    assert status == 1
    assert "2 known vulnerabilities in 2 packages (not known to the database: local)" in text
    assert "leaky 1.0: PYSEC-1, mended in 1.1" in text
    assert "PYSEC-2, mended in no version" in text


def test_none_passes_and_says_how_many_were_looked_at() -> None:
    assert said(CLEAN) == (0, "pip-audit: 0 known vulnerabilities in 1 packages")


def test_a_database_that_cannot_be_asked_is_told() -> None:
    assert "nothing was audited" in said(UNKNOWN)[1]
    for output in ("", "Traceback (most recent call last):"):
        status, text = audit.verdict(output)
        assert status == 0
        assert "could not be reached, nothing was audited" in text


def test_the_long_tests_audit() -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", "--dry-run", "--always-make", "test-full"]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=clean).stdout
    assert "scripts/audit.py" in planned
