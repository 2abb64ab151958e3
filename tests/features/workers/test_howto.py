"""The page on workers is run as it is printed."""

import re
from pathlib import Path

from tests.pages import blocks, in_the_tutorials_project

PAGE = "docs/howto/parallel.md"


def test_do_several_tasks_at_once(tmp_path: Path, private: None) -> None:
    reader = in_the_tutorials_project(tmp_path)
    (reader.root / ".gitignore").write_text("__pycache__/\n*.md\n!CHANGES.md\n")
    reader.runs("git commit -qam 'Leave pages out'")
    for page in blocks(PAGE, "markdown"):
        name = re.search(r"^id: (\S+)", page, re.M)
        assert name
        (reader.root / f"{name[1]}.md").write_text(page)
    reader.follows(blocks(PAGE, "text")[0])
