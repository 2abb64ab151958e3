"""One table of slash commands: every surface offers it, none has a command of its own, and what only a terminal can do
says so elsewhere."""

import ast
import asyncio
import re
from pathlib import Path

import pytest

import quintet
from quintet.adapters.files.paths import locate
from quintet.domain.dials.axes import Surface
from quintet.domain.journal import protocol as p
from quintet.engine.commands.table import TABLE
from quintet.engine.session.session import Session
from quintet.features import registry
from quintet.features.web_ui.server import commands as offered_by_pages
from tests.features.acp.client import editor
from tests.places import ROOT

pytestmark = pytest.mark.everything
SOURCE = ROOT / "src" / "quintet"
SURFACES = ("surfaces", "features/acp", "features/web_ui", "features/remote")
NAMES = {one.name for one in TABLE} | {one.name for feature in registry.features() for one in feature.slash}
COMMAND = re.compile(r"/([a-z][a-z-]+)(?: .*)?")
WITHIN = re.compile(r"[\"'`]/([a-z][a-z-]+)(?=[ \"'`])")  # in a script, or in markup that is written out
PATHS = {"dev", "enter", "null", "usr", "etc", "tmp", "proc", "bin", "metrics"}  # that begin so, and are no commands
OTHERS = {"start", "bot", "join"}  # what Telegram's own button sends, and parts of the channels' addresses
CLOSE = "close the page or the editor's session"
TERMINAL = {"/theme dark": "terminal", "/copy": "terminal", "/quit": CLOSE, "/exit": CLOSE}


def literals(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def test_no_surface_has_a_command_that_is_not_in_the_table() -> None:
    found = {
        (path.relative_to(SOURCE).as_posix(), match[1])
        for room in SURFACES
        for path in (SOURCE / room).rglob("*.py")
        for text in literals(path)
        if (match := COMMAND.fullmatch(text)) and match[1] not in NAMES | PATHS
    }
    found |= {
        (path.relative_to(SOURCE).as_posix(), match[1])
        for room in SURFACES
        for path in (SOURCE / room).rglob("*.*")
        if path.suffix in (".js", ".py")
        for match in WITHIN.finditer(path.read_text())
        if match[1] not in NAMES | PATHS
    }
    assert {one for one in found if one[1] not in OTHERS} == set()


def test_every_surface_offers_the_same_commands(repo: Path) -> None:
    async def offered() -> tuple[set[str], set[str]]:
        async with quintet.open(str(repo)) as session:
            library = {one.name for one in session.commands}
        async with editor(repo) as at:
            await at.new(repo)
            (update,) = await at.sees(lambda: at.of("available_commands_update"))
        return library, {one["name"] for one in update["availableCommands"]}

    library, editors = asyncio.run(offered())
    of_servers = {name for name in NAMES if ":" in name}  # their names are those of the servers
    of_skills = {folder.name for folder in (SOURCE / "skills").iterdir() if (folder / "SKILL.md").is_file()}
    pages = {one.name for one in offered_by_pages(locate(str(repo)))}
    assert library - of_skills == NAMES == pages - of_skills
    assert of_skills < library and of_skills < editors and of_skills < pages
    assert editors - of_skills == NAMES - of_servers


async def ran(session: Session, line: str) -> p.CommandRan:
    submission = await session.say(line)
    async for item in session.follow(submission):
        if isinstance(item, p.Recorded) and isinstance(item.event, p.CommandRan):
            return item.event
    raise AssertionError(line)


def acted_on() -> set[str]:
    """What a command leaves for a surface to do: the names in its data that a surface looks for."""
    looked_for = re.compile(r"\bdata\.get\(\"(\w+)\"|\"(\w+)\" (?:not )?in (?:event|ran)\.data")
    rooms = [path.read_text() for path in (SOURCE / "surfaces").rglob("*.py")]
    return {found[1] or found[2] for text in rooms for found in looked_for.finditer(text)}


def test_what_only_a_terminal_does_says_so_elsewhere(repo: Path) -> None:
    async def said(surface: Surface) -> dict[str, p.CommandRan]:
        async with quintet.open(str(repo), surface=surface, person=True) as session:
            return {line: await ran(session, line) for line in TERMINAL}

    for surface in (Surface.WEB, Surface.RPC):
        for line, event in asyncio.run(said(surface)).items():
            assert not event.ok and TERMINAL[line] in event.text, (surface, line)


def test_a_command_that_a_surface_carries_out_is_known_as_one() -> None:
    """Whoever adds one says here what it answers elsewhere: `TERMINAL`, and /sessions ID for attach."""
    of_any = {"turn", "event"}  # what begins, and what an agent answers: the same on every surface
    assert acted_on() - of_any == {"copy", "theme", "quit", "attach"}


def test_another_session_is_opened_by_a_terminal_and_elsewhere_it_is_said_how(repo: Path) -> None:
    async def said() -> p.CommandRan:
        async with quintet.open(str(repo)) as other:
            pass
        async with quintet.open(str(repo), person=True) as session:
            return await ran(session, f"/sessions {other.id}")

    event = asyncio.run(said())
    assert not event.ok and "quintet --resume" in event.text
