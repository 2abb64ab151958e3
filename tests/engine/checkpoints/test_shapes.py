"""A path that is a file, then a folder, then a file again; and calls that edit .gitignore: /rewind takes them back."""

from pathlib import Path

import pytest

from quintet.domain.turn.messages import CallPart
from quintet.testing import call
from tests.engine.checkpoints.test_rewind import files, left, replies
from tests.engine.driving import Driver, drive


def sh(*lines: str) -> list[CallPart]:
    return [call("bash", command=line) for line in lines]


TO_FOLDER = "rm notes && mkdir notes && echo in > notes/in.txt"
TO_FILE = "rm -r notes && echo again > notes"
WAYS = {
    "file to folder": ([TO_FOLDER],),
    "file to folder and back": ([TO_FOLDER, TO_FILE],),
    "and back in a later turn": ([TO_FOLDER], [TO_FILE]),
    "back to what it was": ([TO_FOLDER, "rm -r notes && echo first > notes"],),
    "folder to file": (["rm -r tally && echo x > tally"],),
    "folder to file and back": (
        ["rm -r tally && echo x > tally", "rm tally && mkdir tally && echo 1 > tally/other.py"],
    ),
    "to a link": (["rm notes && ln -s tally notes", "rm notes && mkdir notes && echo 2 > notes/b"],),
    "gitignore and files": (["echo '*.log' >> .gitignore && echo a > a.log && echo b > b.txt"],),
    "gitignore then files": (["echo '*.log' >> .gitignore", "echo b > b.txt && mkdir d && echo c > d/c.txt"],),
    "unrelated pattern": (["echo 'never-there' > .gitignore && echo b > b.txt"],),
    "gitignore gone": (["rm .gitignore && echo b > b.txt && rm notes"],),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_calls_made_of_it_is_taken_back(repo: Path, way: str) -> None:
    (repo / "notes").write_text("first\n")
    (repo / ".gitignore").write_text("*.tmp\n")
    before = files(repo)
    said = []

    async def script(driver: Driver) -> None:
        for _ in WAYS[way]:
            await driver.turn("change")
        changed = files(repo)
        ran = await driver.command("/rewind 1 files")
        said.append((left(ran), files(repo) == before))
        ran = await driver.command(f"/rewind {len(WAYS[way]) + 1} files")
        said.append((left(ran), files(repo) == changed))

    drive(repo, script, replies(*[sh(*lines) for lines in WAYS[way]]))
    assert said == [({}, True), ({}, True)], files(repo)
