"""Write the tables of docs/ from the code: every module of scripts/tables has a PATH and a ``render()``.

python scripts/make_tables.py            # all of them
python scripts/make_tables.py geometry   # those named
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "scripts" / "tables"


def load(name: str) -> ModuleType:
    """Import scripts/tables/NAME.py."""
    spec = importlib.util.spec_from_file_location(f"spdnorm_table_{name}", TABLES / f"{name}.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"no table {name!r}: choose from {', '.join(available())}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def available() -> list[str]:
    return sorted(p.stem for p in TABLES.glob("*.py") if not p.stem.startswith("_"))


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(available()))
    if unknown:
        raise SystemExit(f"unknown tables {', '.join(unknown)}: choose from {', '.join(available())}")
    for name in names or available():
        module = load(name)
        path = ROOT / module.PATH
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(module.render(), encoding="utf-8")
        print(f"wrote {module.PATH}")


if __name__ == "__main__":
    main(sys.argv[1:])
