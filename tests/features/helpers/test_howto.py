"""The page on helpers is run as it is printed."""

from pathlib import Path

from tests.pages import blocks, in_the_tutorials_project

PAGE = "docs/howto/helpers.md"


def test_let_helpers_do_a_part_of_the_work(tmp_path: Path, private: None) -> None:
    reader = in_the_tutorials_project(tmp_path)
    (asked,) = blocks(PAGE, "json")
    (reader.root / "helpers.json").write_text(asked)
    for block in blocks(PAGE, "text"):
        reader.follows(block)
