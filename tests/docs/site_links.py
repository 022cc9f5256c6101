"""What the pages of a built site refer to, read from the HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Page(HTMLParser):
    """Anchors, links and loaded files of one page."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for name in ("id", "name"):
            if values.get(name):
                self.anchors.add(str(values[name]))
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if tag in ("img", "script", "source", "iframe") and values.get("src"):
            self.loaded.append(str(values["src"]))
        if tag == "link" and values.get("href") and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(str(values["href"]))


def read(site: Path) -> dict[Path, Page]:
    pages = [p for p in site.rglob("*.html") if "_static" not in p.relative_to(site).parts]
    return {p.resolve(): Page(p) for p in pages}


def broken(pages: dict[Path, Page]) -> list[str]:
    """Links inside the site to files or anchors that are not there."""
    found = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists():
                found.append(f"{path.name}: {link}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{path.name}: {link} (no such anchor)")
    return found


def loaded_from_elsewhere(pages: dict[Path, Page]) -> list[str]:
    """Scripts, styles and pictures that a reader without a network would miss."""
    remote = ((p.path.name, source) for p in pages.values() for source in p.loaded)
    return [f"{name}: {source}" for name, source in remote if urlsplit(source).netloc]
