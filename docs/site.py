"""Builds the documentation as a site, from the same Markdown: python docs/site.py FOLDER.

The pages keep their places, so their links hold: the README is the first page, and docs/ and examples/ lie below it.
Nothing is loaded from elsewhere, and the search works from files on disk.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE")
LATER = ("adr", "compatibility")  # what a search shows after the pages for users
ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
MUCH = 50  # characters in a cell of a table, which get a width of their own
SETTINGS = """\
site_name: Quintet
site_description: A coding agent that you control with five dials
docs_dir: pages
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.sections, navigation.top, navigation.footer, search.highlight, content.code.copy]
  palette:
    - media: "(prefers-color-scheme: light)"
      scheme: default
      primary: blue grey
      toggle: {icon: material/weather-night, name: dark}
    - media: "(prefers-color-scheme: dark)"
      scheme: slate
      primary: blue grey
      toggle: {icon: material/weather-sunny, name: light}
extra_css: [docs/site.css]
plugins: [search, offline]
markdown_extensions:
  - tables
  - toc: {permalink: true, slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}}
  - pymdownx.highlight
  - pymdownx.superfences
validation: {links: {not_found: warn, anchors: warn, unrecognized_links: info}}
nav:
"""


def navigation(pages: Path) -> str:
    """The pages in the order in which somebody new wants them: that of docs/README.md, where it names them."""
    order = re.findall(r"\]\(([\w/.-]+\.md)", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"))

    def place(name: str) -> tuple[int, str]:
        return (order.index(name) if name in order else len(order), name)

    def listed(folder: str) -> str:
        names = (f"{folder}/{path.name}" for path in (pages / "docs" / folder).glob("*.md") if path.name != "README.md")
        return "".join(f"    - docs/{name}\n" for name in sorted(names, key=place))

    first = "".join(f"    - docs/{name}.md\n" for name in ("tour", "tutorial", "install", "faq"))
    trust = "".join(f"    - docs/{name}.md\n" for name in ("approval", "security", "privacy", "platforms", "upgrade"))
    trust += "    - Report a vulnerability: SECURITY.md\n"
    code = "".join(
        f"    - docs/{name}.md\n" for name in ("architecture", "glossary", "library", "operators", "benchmarks")
    )
    return (
        f"  - Quintet: index.md\n  - Start:\n{first}  - How to:\n{listed('howto')}  - Trust:\n{trust}"
        f"  - Reference:\n{listed('reference')}  - Compatibility:\n{listed('compatibility')}"
        f"  - Build on it:\n{code}    - examples/README.md\n    - CONTRIBUTING.md\n    - CHANGELOG.md\n"
        f"  - Decisions:\n    - docs/adr/README.md\n{listed('adr')}"
    )


def lay_out(place: Path) -> None:
    """The pages and what they show, as MkDocs wants them."""
    pages = place / "pages"
    shutil.copytree(
        ROOT / "docs", pages / "docs", ignore=shutil.ignore_patterns("*.py", "*.js", "words.txt", "__pycache__")
    )
    shutil.copytree(ROOT / "examples", pages / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name in BESIDE:
        shutil.copy(ROOT / name, pages / name)
    shutil.copy(ROOT / "README.md", pages / "index.md")
    for page in pages.rglob("*.md"):
        text = cells(page.read_text(encoding="utf-8"))
        if page.parent == pages:
            text = text.replace("(README.md", "(index.md")
        if page.parent.name in LATER:
            text = f"---\nsearch: {{boost: 0.1}}\n---\n{text}"
        page.write_text(text, encoding="utf-8")
    (place / "mkdocs.yml").write_text(SETTINGS + navigation(pages), encoding="utf-8")


def cells(text: str) -> str:
    """Bars in the code of tables without the backslash that only other readers of Markdown take away."""

    def plain(row: re.Match[str]) -> str:
        return re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), row[0])

    return re.sub(r"^\|.*$", plain, text, flags=re.M)


def finish(site: Path) -> None:
    """Pages that search from disk, with our own stand-in for the workers that the theme loads from elsewhere, and whose
    tables can be read on a phone."""
    (site / "404.html").unlink()  # its links count from the root of a server
    shutil.copy(ROOT / "docs" / "site_worker.js", site / "assets" / "worker.js")
    for page in site.rglob("*.html"):
        here = os.path.relpath(site / "assets" / "worker.js", page.parent)
        text = page.read_text(encoding="utf-8").replace(ELSEWHERE, here)
        page.write_text(re.sub(r"<td([^>]*)>(.*?)</td>", roomy, text, flags=re.S), encoding="utf-8")


def roomy(cell: re.Match[str]) -> str:
    """A cell with much to read is marked, and the code in it may go on in a new line after a bar."""
    words = re.sub(r"<[^>]+>", "", cell[2])
    code = re.sub(r"<code>.*?</code>", lambda one: one[0].replace("|", "|<wbr>"), cell[2], flags=re.S)
    marked = ' class="long"' if len(words) > MUCH else ""
    return f"<td{cell[1]}{marked}>{code}</td>"


def main(folder: str) -> int:
    with tempfile.TemporaryDirectory(prefix="quintet-site-") as made:
        place = Path(made)
        lay_out(place)
        site = Path(folder).absolute()
        words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(site)]
        built = subprocess.run(words, cwd=place, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if built.returncode == 0:
        finish(site)
    return built.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
