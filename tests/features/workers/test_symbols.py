"""Claims by symbol: the lines that the index gives decide; what it does not know, or knows elsewhere, is the file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.domain.tasks.task import Intent
from quintet.domain.workers.integration import IntegrateWay
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


ONE = 'replace "return 1" with "return 10" in calc.py'
THREE = 'replace "return 3" with "return 30" in calc.py'


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


def test_of_two_tasks_at_two_functions_of_one_file_neither_is_in_the_way(calc: Path) -> None:
    add(
        calc,
        page("t1", ONE, intent="calc.py::one", check="grep -q 10 calc.py"),
        page("t2", THREE, intent="calc.py::sub", check="grep -q 30 calc.py"),
        page("t3", "x", intent="calc.py::Calc"),
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
        finally:
            await shop.close()
        return found

    assert asyncio.run(run()) == {"t1": [], "t2": [], "t3": ["t2: calc.py::Calc"]}


def test_two_tasks_at_two_functions_of_one_file_do_not_wait(calc: Path) -> None:
    """In branches of their own: where one has landed, the whole file is in another content."""
    add(
        calc,
        page("t1", ONE, intent="calc.py::one", check="grep -q 10 calc.py"),
        page("t2", THREE, intent="calc.py::sub", check="grep -q 30 calc.py"),
    )

    async def index() -> None:
        """Before the two, each of which would else make it, and one of them too late."""
        places = locate(str(calc))
        shop = Shop(places, layers.load(places), "main")
        try:
            assert (await shop.wanted(shop.keeper.find("t2")))[0].first == 9
        finally:
            await shop.close()

    asyncio.run(index())
    told = work(calc, workers=2, way=IntegrateWay.BRANCH)
    assert "return 10" in git(calc, "show", "quintet/t1:calc.py"), told
    assert "return 30" in git(calc, "show", "quintet/t2:calc.py"), told
    assert not any("waits for" in line for task in ("t1", "t2") for line in said(told, task)), told
