"""The how-to about pages for agents, run as it is printed."""

import re
from pathlib import Path

from tests.surfaces.program import Program

PAGE = (Path(__file__).parents[2] / "docs/howto/tell-agents.md").read_text()


def test_the_page_of_the_howto_is_told_as_printed(quintet: Program) -> None:
    page, style = re.findall(r"^```markdown\n(.*?)^```", PAGE, re.M | re.S)
    (printed,) = re.findall(r"^```text\n\$ quintet (.*?)\n(.*?)^```", PAGE, re.M | re.S)
    (quintet.root / "AGENTS.md").write_text(page)
    (quintet.root / "docs").mkdir()
    (quintet.root / "docs/style.md").write_text(style)
    done = quintet.run(*printed[0].split())
    assert done.code == 0 and printed[1] in done.out
