"""Claims by symbol: the lines that the index gives decide; what it does not know, or knows elsewhere, is the file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.domain.tasks.task import Intent
from quintet.features.workers.shop import Shop
from tests.features.workers.working import add, git, page, said, work

TWO = """def one():
    return 1


class Calc:
    def add(self):
        return 2

    def sub(self):
        return 3
"""


@pytest.fixture
def calc(repo: Path) -> Path:
    (repo / "calc.py").write_text(TWO)
    git(repo, "add", "."), git(repo, "commit", "-qm", "calc")
    return repo


def wanted(root: Path, *symbols: str) -> list[Intent]:
    """What a task that claims these would claim now."""
    add(root, page("s1", "x", intent=", ".join(f"calc.py::{one}" for one in symbols)))

    async def run() -> list[Intent]:
        places = locate(str(root))
        shop = Shop(places, layers.load(places), "main")
        try:
            return list(await shop.wanted(shop.keeper.find("s1")))
        finally:
            await shop.close()

    return asyncio.run(run())


def test_the_lines_are_those_of_the_index_for_what_the_target_holds(calc: Path) -> None:
    found = wanted(calc, "one", "Calc", "Calc.add", "sub", "nowhere")
    assert [(one.symbol, one.first, one.last) for one in found] == [
        *(("one", 1, 2), ("Calc", 5, 10), ("Calc.add", 6, 7), ("sub", 9, 10), ("nowhere", 0, 0)),
    ]
    assert len({one.content for one in found[:4]}) == 1 and found[0].content and not found[4].content


@pytest.mark.parametrize("how", ["unsaved", "gone", "new"])
def test_what_the_index_has_of_another_content_is_the_whole_file(calc: Path, how: str) -> None:
    """The checkout is not what the target holds: the user is at it."""
    if how == "gone":
        (calc / "calc.py").unlink()
    else:
        (calc / "calc.py").write_text("import os\n" + (TWO if how == "unsaved" else ""))
    assert wanted(calc, "one") == [Intent("calc.py", symbol="one")]


def test_two_tasks_at_two_functions_of_one_file_do_not_wait(calc: Path) -> None:
    add(
        calc,
        page("t1", 'replace "return 1" with "return 10" in calc.py', intent="calc.py::one", check="grep -q 10 calc.py"),
        page("t2", 'replace "return 3" with "return 30" in calc.py', intent="calc.py::sub", check="grep -q 30 calc.py"),
        page(  # works last: for the others, what it claims in the content that one of them leaves is the whole file
            "t3",
            'replace "return 2" with "return 20" in calc.py',
            needs="t1, t2",
            intent="calc.py::Calc",
            check="grep -q 20 calc.py",
        ),
    )

    async def run() -> dict[str, list[str]]:
        """Who is in the way of whom, the first two being at work."""
        places = locate(str(calc))
        shop = Shop(places, layers.load(places), "main")
        found = {}
        try:
            for id in ("t1", "t2", "t3"):
                task = shop.keeper.find(id)
                claim = await shop.keeper.claim(id, f"q5-{id}/w")
                others = await shop.workers.claim_paths(id, claim.number, await shop.wanted(task), "")
                found[id] = [f"{one.task}: {one.path}" for one in others]
            for id in ("t1", "t2", "t3"):
                await shop.keeper.let_go(id, f"q5-{id}/w")
        finally:
            await shop.close()
        return found

    assert asyncio.run(run()) == {"t1": [], "t2": [], "t3": ["t2: calc.py::Calc"]}
    told = work(calc, workers=2)
    text = (calc / "calc.py").read_text()
    assert all(f"return {number}" in text for number in (10, 20, 30)), told
    assert not any("waits for" in line for task in ("t1", "t2") for line in said(told, task)), told
