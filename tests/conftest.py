"""What every test gets: a private home, no settings or keys from outside; `repo`, `replays` and `system` to use.

Random examples are the same in every run, and no test is failed for being slow. With QUINTET_TEST_EXAMPLES=N they are
fresh ones, N for each test: `scripts/faults properties`.
"""

import gc
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from fnmatch import translate
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from quintet.app.machine_parts import find_ripgrep
from tests.adapters.model_server import Reply
from tests.surfaces.program import Model, ModelThread, Program
from tests.tools.calling import Caller

pytest.register_assert_rewrite("tests.store_contract")
pytest_plugins = ["tests.postgres", "tests.products", "tests.watchdog", "tests.workers"]

FRESH = os.environ.get("QUINTET_TEST_EXAMPLES")
SLOW = [HealthCheck.too_slow]  # is for the machine to decide, not for the suite
settings.register_profile(
    "same", max_examples=40, derandomize=True, database=None, deadline=None, print_blob=True, suppress_health_check=SLOW
)
settings.register_profile(
    "fresh",
    max_examples=int(FRESH or 100),
    derandomize=False,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[*SLOW, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
settings.load_profile("fresh" if FRESH else "same")

OUTSIDE = (
    "QUINTET_*",
    "*_API_KEY",
    "OPENAI_*",
    "ANTHROPIC_*",
    "OLLAMA_*",
    "*_BASE_URL",
    "*_API_BASE",
    "AWS_*",
    "AZURE_*",
    "GOOGLE_*",
    "GIT_*",
    "GH_*",
    "GITHUB_*",
    "*_TOKEN",
    "*_KEY",
    "*_SECRET",
    "*_PASSWORD",
)
FROM_OUTSIDE = re.compile("|".join(map(translate, OUTSIDE)))

FOLDERS = {
    "HOME": "home",
    "XDG_STATE_HOME": "state",
    "XDG_CONFIG_HOME": "config",
    "XDG_CACHE_HOME": "cache",
    "TMPDIR": "tmp",
}

GIT = {
    "GIT_AUTHOR_NAME": "Ada Test",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada Test",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}

REPO = {
    "tally/__init__.py": "",
    "tally/count.py": '''\
def words(text: str) -> int:
    """How many words `text` has."""
    return len(text.split())
''',
    "tests/__init__.py": "",
    "tests/test_count.py": """\
import unittest

from tally.count import words


class Words(unittest.TestCase):
    def test_counts(self) -> None:
        self.assertEqual(words("one two"), 2)

    def test_empty(self) -> None:
        self.assertEqual(words(""), 0)
""",
}


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if FROM_OUTSIDE.match(name):
            monkeypatch.delenv(name)
    for name, folder in FOLDERS.items():
        path = f"{tmp_path}/{folder}"
        os.mkdir(path)
        monkeypatch.setenv(name, path)
    for name, value in GIT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)  # it remembers the TMPDIR it first saw


@pytest.fixture(scope="session")
def first_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that every `repo` is a copy of: git makes it once."""
    root = tmp_path_factory.mktemp("first") / "repo"
    for name, text in REPO.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for command in (["init", "-b", "main"], ["add", "."], ["commit", "-m", "A small package"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True, env={**outside, **GIT})
    shutil.rmtree(root / ".git/hooks")  # examples, a dozen
    (root / ".git/hooks").mkdir()
    return root


@pytest.fixture
def repo(private: None, tmp_path: Path, first_repo: Path) -> Path:
    """A git repository with one commit: a small package and its unittest tests (`python -m unittest`)."""
    shutil.copytree(first_repo, tmp_path / "repo")
    return tmp_path / "repo"


@pytest.fixture
def replays(private: None, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test recorded is replayed when its project is gone, reaches nothing outside, and comes out the same.

    To its end, unless the test says by `cut_short` why a recording of it ends before.
    """
    yield
    from quintet.engine.replay.replay import lines
    from tests.replaying import loaded, recordings, replay

    shutil.rmtree(tmp_path / "repo", ignore_errors=True)
    for path in recordings(tmp_path / "state"):
        outcome = replay(loaded(path))
        whole = outcome.complete or request.node.get_closest_marker("cut_short")
        assert outcome.equal and whole, "\n".join(lines(outcome))


@pytest.fixture
def quintet(repo: Path) -> Iterator[Program]:
    """The program in a small repository, with the offline rules."""
    program = Program(repo)
    yield program
    program.close()


@pytest.fixture
def model(quintet: Program) -> Iterator[Model]:
    """`model(reply, …)` serves these replies and routes the program to them; keywords go to its settings."""
    started: list[ModelThread] = []

    def serve(*replies: Reply, timeout: float = 60, retries: int = 0, more: str = "") -> ModelThread:
        server = ModelThread(replies)
        started.append(server)
        quintet.settings(server.settings(timeout=timeout, retries=retries, more=more))
        return server

    yield serve
    for server in started:
        server.close()


@pytest.fixture
def blind_ripgrep(private: None, tmp_path: Path) -> str:
    """The ripgrep of these tests, held to the access bits of files also where the tests run as root."""
    script = tmp_path / "blind-ripgrep"
    drop = "setpriv --bounding-set=-all --inh-caps=-all " if os.geteuid() == 0 else ""
    script.write_text(f'#!/bin/sh\nexec {drop}{find_ripgrep()} "$@"\n')
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def tools(repo: Path) -> Caller:
    """The tools of a small git repository."""
    return Caller(repo)


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a suite in the background of a script is deaf to it, and
        signal.signal(signal.SIGINT, signal.default_int_handler)  # so would be every program it starts


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item.iter_markers("system"):
            for part in marker.args:
                if shutil.which(part) is None:
                    reason = f"needs {part} (scripts/test --system installs it)"
                    item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # ten thousand tests and their modules stay as they are, and are not looked through again and again
