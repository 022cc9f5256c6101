"""Ask pip-audit whether an installed package has a known vulnerability; say so where its database cannot be asked.

python scripts/audit.py    # exits with 1 if there is one
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

COMMAND = ("-m", "pip_audit", "--local", "--skip-editable", "--progress-spinner", "off", "--format", "json")
SECONDS = 600


def _line(package: dict[str, Any], hole: dict[str, Any]) -> str:
    mended = ", ".join(hole["fix_versions"]) or "no version"
    return f"{package['name']} {package['version']}: {hole['id']}, mended in {mended}"


def verdict(output: str) -> tuple[int, str]:
    """Exit status, and what to say of what pip-audit printed."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        return 0, "pip-audit: its database could not be reached, nothing was audited"
    audited = [package for package in packages if "skip_reason" not in package]
    if not audited:
        return 0, f"pip-audit: its database knows none of the {len(packages)} packages, nothing was audited"
    found = [_line(package, hole) for package in audited for hole in package["vulns"]]
    left_out = sorted(package["name"] for package in packages if "skip_reason" in package)
    said = f"pip-audit: {len(found)} known vulnerabilities in {len(audited)} packages"
    if left_out:
        said += f" (not known to the database: {', '.join(left_out)})"
    return int(bool(found)), "\n".join([said, *found])


def main() -> None:
    try:
        done = subprocess.run([sys.executable, *COMMAND], capture_output=True, text=True, timeout=SECONDS, check=False)
        output = done.stdout
    except subprocess.TimeoutExpired:
        output = ""
    status, said = verdict(output)
    print(said)
    sys.exit(status)


if __name__ == "__main__":
    main()
