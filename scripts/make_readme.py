"""Fill the generated parts of README.md: its picture, results, speed, and the table of features.

python scripts/make_readme.py              # all of them
python scripts/make_readme.py results      # those named: picture, results, speed, features
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from readme import features, measured, picture  # noqa: E402

PICTURE = "docs/_static/normalisation.png"


def _picture() -> str:
    picture.draw(ROOT / PICTURE)
    return f"![Two recordings of 2 x 2 covariances before and after batch normalisation]({PICTURE})"


PARTS: dict[str, Callable[[], str]] = {
    "picture": _picture,
    "results": lambda: measured.results(ROOT),
    "speed": lambda: measured.speed(ROOT),
    "features": features.render,
}


def fill(text: str, name: str, content: str) -> str:
    """Replace what stands between the marks of a part."""
    pattern = rf"(<!-- generated: {name} -->\n).*?(<!-- end of {name} -->)"
    filled, count = re.subn(pattern, lambda match: f"{match[1]}{content}\n{match[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"README.md has {count} parts marked '<!-- generated: {name} -->', expected 1")
    return filled


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        raise SystemExit(f"unknown parts {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    for name in names or PARTS:
        text = fill(text, name, PARTS[name]())
        print(f"filled {name}")
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
