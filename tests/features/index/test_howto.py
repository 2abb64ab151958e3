"""The page about the index is run as it is printed."""

from pathlib import Path

from quintet.features.index.languages import LANGUAGES
from tests.pages import ROOT, blocks, in_the_tutorials_project

PAGE = "docs/howto/index.md"
SPELT = {
    "cpp": "C++",
    "csharp": "C#",
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "php": "PHP",
    "ocaml": "OCaml",
}


def test_the_page_about_the_index(tmp_path: Path) -> None:
    reader = in_the_tutorials_project(tmp_path)
    for block in blocks(PAGE, "text"):
        reader.follows(block)
    (settings,) = blocks(PAGE, "toml")
    reader.sets(settings)
    assert "index.retrieval" in reader.runs("quintet settings")


def test_the_page_names_every_language() -> None:
    page = (ROOT / PAGE).read_text()
    assert [name for name in LANGUAGES if SPELT.get(name, name.capitalize()) not in page] == []
