"""What a server's program sees behind the sandbox: what it is made of, what it was given, and a home that lasts."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from msgspec import structs

from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.opened_places import OpenedPlaces
from quintet.features.mcp.pool import McpPool
from quintet.features.mcp.sandboxed import read_folders, refused_folder, set_inside, start_hint
from quintet.features.mcp.values import McpServer
from tests.features.mcp.test_mcp_client import SERVERS, Project
from tests.features.mcp.test_mcp_tool import OFFER


@pytest.fixture
def project(repo: Path, tmp_path: Path) -> Project:
    return Project(repo, tmp_path / "caches")


@pytest.fixture
def home(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home, which no sandbox shows."""
    folder = Path(os.path.realpath(os.path.expanduser("~"))) / "servers"
    folder.mkdir()
    shutil.copy(SERVERS / "told.py", folder / "told.py")
    (folder / "told.json").write_text(json.dumps(OFFER))
    return folder


def own(*words: str, **more: object) -> McpServer:
    return McpServer("mine", "your settings", (sys.executable, "-S", *words), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT", "PATH", "PYTHONPATH", "BASH_ENV", "GLIBC_TUNABLES"])
def test_what_acts_on_every_program_is_set_inside_the_sandbox_only(name: str) -> None:
    """In the environment of the program that builds the sandbox it would run code outside."""
    argv, variables = set_inside(("server", "-x"), {name: "./e.so", "API_TOKEN": "t"})
    assert (argv, variables) == (("/usr/bin/env", f"{name}=./e.so", "server", "-x"), {"API_TOKEN": "t"})
    assert set_inside(("server",), {"API_TOKEN": "t"}) == (("server",), {"API_TOKEN": "t"})


@pytest.mark.system("bwrap")
def test_a_server_that_names_a_library_to_load_starts_with_it_inside(project: Project, home: Path) -> None:
    async def used(pool: McpPool) -> None:
        assert (await pool.offer("mine")).tools

    project.use(own(str(home / "told.py"), str(home / "told.json"), env={"LD_LIBRARY_PATH": "/nowhere"}), used)


def test_a_server_in_the_home_starts_where_the_users_own_settings_name_it(project: Project, home: Path) -> None:
    async def use(pool: McpPool) -> None:
        assert [one.name for one in (await pool.offer("mine")).tools] == ["add"]

    project.use(own(str(home / "told.py"), str(home / "told.json")), use)


def test_a_projects_server_is_shown_nothing_of_the_home_and_the_error_names_what_was_hidden(
    project: Project, home: Path
) -> None:
    server = McpServer("mine", ".mcp.json", (sys.executable, "-S", str(home / "told.py"), str(home / "told.json")))

    async def use(pool: McpPool) -> None:
        with pytest.raises(ToolFailed) as caught:
            await pool.offer("mine")
        assert f"Hidden by the sandbox: {home}/told.py, {home}/told.json" in str(caught.value)
        assert f'folders = ["{home}"] shows it' in str(caught.value)
        assert "network" not in str(caught.value)

    project.use(server, use)


def test_folders_are_read_or_written_as_the_settings_say_and_nothing_else_is(project: Project, home: Path) -> None:
    for name in ("reads", "writes", "others"):
        (home / name).mkdir()
        (home / name / "x").write_text(name)
    server = project.good(folders=(str(home / "reads"),), write=(str(home / "writes"),))
    seen = {}

    async def use(pool: McpPool) -> None:
        async def look(path: Path, *, write: bool = False) -> str:
            answer = await pool.call("good", "look", {"path": str(path), "write": write}, lambda text: None)
            return answer.parts[0].text

        for name in ("reads", "writes", "others"):
            seen[name] = await look(home / name / "x"), await look(home / name / "y", write=True)

    project.use(server, use)
    assert seen["reads"] == ("reads", "OSError")
    assert seen["writes"] == ("writes", "written")
    assert seen["others"][0] == "FileNotFoundError" and seen["others"][1] != "written"
    assert (home / "writes/y").read_text() == "was here" and not (home / "others/y").exists()


@pytest.mark.parametrize("origin", ["your settings", ".mcp.json"])
def test_what_the_user_shows_the_sandbox_is_shown_to_their_own_servers(
    project: Project, home: Path, origin: str
) -> None:
    (home / "x").write_text("shown")
    server = structs.replace(project.good(), origin=origin)
    seen = []

    async def use(pool: McpPool) -> None:
        for path, write in ((home / "x", False), (home / "y", True)):
            answer = await pool.call("good", "look", {"path": str(path), "write": write}, lambda text: None)
            seen.append(answer.parts[0].text)

    project.use(server, use, OpenedPlaces(shown=(str(home),)))
    assert (seen[0] == "shown") is (origin == "your settings")
    assert not (home / "y").exists()


def test_what_a_server_keeps_in_its_home_lasts_and_the_users_own_cannot_be_written(
    project: Project, home: Path
) -> None:
    answers = []

    async def use(pool: McpPool) -> None:
        own_home = pool.home(project.good())
        memory, lost = f"{own_home}/memory.json", str(home.parent / "memory.json")
        calls = ({"path": memory, "write": True}, {"path": memory}, {"path": lost, "write": True})
        said = [await pool.call("good", "look", one, lambda text: None) for one in calls]
        answers.extend(one.parts[0].text for one in said)
        variables = await pool.call("good", "variables", {}, lambda text: None)
        assert isinstance(variables.structured, dict) and variables.structured["HOME"] == own_home

    project.use(project.good(), use)
    project.use(project.good(), use)
    assert answers == ["written", "was here", "OSError"] * 2


@pytest.mark.parametrize("given", ["~", "/", "~/..", "{config}", "{config}/quintet", "some/where"])
def test_no_folder_that_holds_the_home_the_project_or_quintets_own_files_is_given(given: str, repo: Path) -> None:
    config = os.path.expanduser("~/.config")
    path = given.format(config=config)
    assert refused_folder([path], str(repo), [f"{config}/quintet"])


def test_the_hint_names_the_network_only_where_that_shows() -> None:
    assert start_hint(own("x.py"), [], "SyntaxError") == ""
    assert "network = true" in start_hint(own("x.py"), [], "getaddrinfo ENOTFOUND registry.example")
    assert "network = true" in start_hint(McpServer("n", "your settings", ("npx", "-y", "x")), [], "")
    assert start_hint(McpServer("n", "your settings", ("npx", "x"), network=True), [], "ENOTFOUND") == ""


def test_a_program_brings_its_package_and_not_the_home(home: Path, repo: Path) -> None:
    package = home / "pkg"
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text("{}")
    (package / "dist/index.js").write_text("")
    shown = read_folders(McpServer("m", "your settings", ("node", str(package / "dist/index.js"))), str(repo))
    assert shown == (str(package),)
    loose = home.parent / "loose.py"
    loose.write_text("")
    assert read_folders(McpServer("m", "your settings", ("python3", str(loose))), str(repo)) == ()


def test_a_link_in_a_folder_that_is_shown_is_not_shown_again(home: Path, repo: Path) -> None:
    (home / "real/bin").mkdir(parents=True)
    (home / "real/pyvenv.cfg").write_text("")
    (home / "real/bin/server").write_text("")
    (home / "linked").symlink_to(home / "real")
    server = McpServer("m", "your settings", (str(home / "linked/bin/server"),), folders=(str(home),))
    assert read_folders(server, str(repo)) == (str(home),)
