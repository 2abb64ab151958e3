"""A feature of somebody else's, installed beside Quintet in an environment: everything that it adds is used."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, types

from tests.places import ROOT

EXAMPLE = ROOT / "examples" / "plugin"
BROKEN = {
    "raises": ("raise RuntimeError('it is Monday')", "it cannot be loaded: RuntimeError: it is Monday"),
    "nothing": ("FEATURE = 1", "its entry point is not a quintet.Feature but int"),
    "taken": (
        "from quintet import CliCommand, Feature\n"
        "FEATURE = Feature('taken', 'x', __name__, commands=(CliCommand('library', 'x:y'),))",
        "there is already a command library, from library",
    ),
    "clash": (
        "from quintet import Feature, FeatureCommand\n"
        "FEATURE = Feature('clash', 'x', __name__, slash=(FeatureCommand('help', '/help', 'x', 'x:y'),))",
        "these names are already used: /help",
    ),
    "toolless": (
        "from quintet import Feature\nFEATURE = Feature('toolless', 'x', __name__, tools=('tools:gone',))",
        "tools:gone cannot be loaded: ModuleNotFoundError: No module named 'toolless.tools'",
    ),
}

CHECKS = """
from quintet import Feature, FeatureCheck
FEATURE = Feature("checks", "x", __name__, checks=(FeatureCheck("look:fails"),))
"""
USABLE = {"weather", "checks"}


BOARD = """
import asyncio, quintet
from quintet.domain.journal.protocol import Say

async def main():
    async with quintet.open(".") as session:
        print(list(session.board_rows()))
        await session.follow(await session.submit(Say(text="/weather Rome"))).end()
        print(*(f"{row.text} | {row.about}" for row in session.board_rows()))

asyncio.run(main())
"""


class Environment:
    """A fresh virtual environment that finds Quintet and what it needs where this one does."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = folder / "bin" / "python"
        self.packages = next(folder.glob("lib/python3*/site-packages"))
        (self.packages / "beside.pth").write_text("\n".join(path for path in sys.path if path) + "\n")

    def installs(self, wheel: Path) -> None:
        line = [sys.executable, "-m", "pip", "--python", self.python, "install", "-q", "--no-index", "--no-deps", wheel]
        subprocess.run(line, check=True, capture_output=True)

    def quintet(
        self, root: Path, *words: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        line = [self.python, "-P", "-m", "quintet", *words]
        variables = {**os.environ, **(env or {})}
        return subprocess.run(line, cwd=root, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    folder = tmp_path_factory.mktemp("plugin")
    made = Environment(folder / "venv")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=EXAMPLE, check=True, capture_output=True)
    made.installs(next(folder.glob("*.whl")))
    yield made


@pytest.fixture
def places(repo: Path) -> Path:
    (repo / "weather.txt").write_text("Oslo: rain\nRome: sun\n")
    return repo


def test_it_is_listed_with_what_it_adds(environment: Environment, places: Path) -> None:
    (row,) = json.loads(environment.quintet(places, "plugins", "--json").stdout)
    assert row["package"] == "quintet-weather 0.1.0" and not row["problem"]
    assert (row["tools"], row["slash"], row["settings"]) == (["weather_of"], ["/weather"], ["[weather]"])
    assert row["checks"] == ["file_is_there"]


def test_the_page_shows_what_is_printed(environment: Environment, places: Path) -> None:
    page = (EXAMPLE.parents[1] / "docs/howto/write-a-plugin.md").read_text()
    (block,) = re.findall(r"^```text\n(\$ quintet plugins.*?)^```", page, re.M | re.S)
    for step in block.removeprefix("$ quintet ").split("\n$ quintet "):
        command, _, shown = step.partition("\n")
        assert environment.quintet(places, *shlex.split(command)).stdout.split() == shown.split()


def test_its_tool_goes_through_the_gate(environment: Environment, places: Path) -> None:
    oslo = json.dumps({"place": "Oslo"})
    judged = environment.quintet(places, "permit", "--tool", "weather_of", "--args", oslo, "--json")
    assert json.loads(judged.stdout)["effects"] == ["read"]
    assert environment.quintet(places, "tools", "call", "weather_of", "--args", oslo).stdout == "rain\n"
    (places / ".env").write_text("Oslo: secret\n")
    hidden = environment.quintet(
        places, "tools", "call", "weather_of", "--args", oslo, env={"QUINTET_WEATHER_FILE": ".env"}
    )
    assert hidden.returncode != 0 and "secret\n" not in hidden.stdout
    assert "may contain secrets" in hidden.stdout + hidden.stderr


def test_its_tool_is_offered_to_other_agents_too(environment: Environment, places: Path) -> None:
    words = ["-P", "-m", "quintet", "mcp-server", "--toolsets", "data"]
    server = StdioServerParameters(command=str(environment.python), args=words, env=dict(os.environ), cwd=places)

    async def used() -> None:
        async with asyncio.timeout(120), Client(server) as client:
            assert "weather_of" in {tool.name for tool in (await client.list_tools()).tools}
            (said,) = (await client.call_tool("weather_of", {"place": "Oslo"})).content
            assert isinstance(said, types.TextContent) and said.text == "rain"

    asyncio.run(used())


def test_its_command_and_its_setting(environment: Environment, places: Path) -> None:
    assert environment.quintet(places, "-p", "/weather Rome").stdout == "Rome: sun\n"
    assert "/weather" in environment.quintet(places, "-p", "/help").stdout
    (places / "other.txt").write_text("Bern: fog\n")
    changed = environment.quintet(places, "-p", "/weather", env={"QUINTET_WEATHER_FILE": "other.txt"})
    assert changed.stdout == "Bern: fog\n"
    assert "weather.file" in environment.quintet(places, "settings").stdout
    wrong = environment.quintet(places, "settings", env={"QUINTET_WEATHER_FIEL": "x"})
    assert "Did you mean weather.file?" in wrong.stderr


def test_its_check_is_the_doctors_and_mends(environment: Environment, places: Path) -> None:
    def doctor(*words: str) -> list[dict[str, object]]:
        done = environment.quintet(places, "doctor", *words, "--json", env={"QUINTET_WEATHER_FILE": "named.txt"})
        found = json.loads(done.stdout)
        return [one for one in (found["findings"] if words else found) if one["code"].startswith(("WEATHER", "CHECK"))]

    assert "WEATHER_FILE" not in environment.quintet(places, "doctor").stdout
    (finding,) = doctor()
    assert finding == {
        "code": "WEATHER_FILE",
        "severity": "warning",
        "scope": "project",
        "subject": "named.txt",
        "problem": "weather.file names named.txt, which is not there",
        "advice": "make an empty one",
        "fixable": True,
    }
    assert doctor("fix") == [] and (places / "named.txt").exists()


def test_it_has_a_row_on_the_board_once_it_was_used(environment: Environment, places: Path) -> None:
    done = subprocess.run([environment.python, "-P", "-c", BOARD], cwd=places, capture_output=True, text=True)
    assert done.stdout == "[]\nweather, looked up 1 × | weather.txt\n", done.stderr


def test_a_session_with_it_is_replayed_where_it_is_not_installed(environment: Environment, places: Path) -> None:
    assert environment.quintet(places, "-p", "/weather Rome").returncode == 0
    done = subprocess.run(
        [sys.executable, "-P", "-m", "quintet", "replay", "latest", "--json"],
        cwd=places,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["equal"] is True


def test_one_that_cannot_be_used_is_told_and_keeps_nothing_from_working(environment: Environment, repo: Path) -> None:
    made = []
    for name, code in {**{name: code for name, (code, _) in BROKEN.items()}, "checks": CHECKS}.items():
        package = environment.packages / name
        info = environment.packages / f"{name}-1.0.dist-info"
        package.mkdir()
        info.mkdir()
        (package / "__init__.py").write_text(code)
        (package / "look.py").write_text("def fails(checkup):\n    return 1 / 0\n")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[quintet.features]\n{name} = {name}:FEATURE\n")
        made += [package, info]
    try:
        listed = environment.quintet(repo, "plugins", "--json")
        assert listed.returncode == 1
        problems = {row["name"]: row["problem"] for row in json.loads(listed.stdout)}
        assert problems == {**dict.fromkeys(USABLE, ""), **{name: problem for name, (_, problem) in BROKEN.items()}}
        found = json.loads(environment.quintet(repo, "doctor", "--json").stdout)
        assert {one["subject"] for one in found if one["code"] == "PLUGIN_UNUSABLE"} == set(problems) - USABLE
        broken = [one for one in found if one["code"] == "CHECK_BROKEN"]
        assert [one["problem"] for one in broken] == ["a check of checks failed: ZeroDivisionError: division by zero"]
        assert environment.quintet(repo, "-p", "/help quit").returncode == 0
        assert environment.quintet(repo, "tools", "list").returncode == 0
    finally:
        for folder in made:
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()
