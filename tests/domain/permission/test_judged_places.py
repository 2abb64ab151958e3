"""Which entries of sandbox.show and sandbox.give are followed, and what a grant gets of them."""

import pytest

from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.hidden_paths import interpreters, tried
from quintet.domain.permission.judged_places import Around, Kind, judged
from quintet.domain.permission.opened_places import NOTHING_OPENED, OpenedPlaces, opened
from quintet.domain.permission.protected_paths import PROTECTION

HOME = "/home/u"
AROUND = Around(
    root="/home/u/work/project",
    home=HOME,
    own=("/home/u/.config/quintet", "/home/u/.local/state/quintet"),
    programs=("/home/u/.local/bin", "/home/u/.cargo", "/usr/bin"),
    system=("/usr", "/opt", "/etc", "/bin"),
    protection=PROTECTION,
)


def places(
    *show: str, give: tuple[str, ...] = (), links: dict[str, str] | None = None, kind: Kind = "folder"
) -> OpenedPlaces:
    return judged(show, give, AROUND, lambda path: ((links or {}).get(path, path), kind))


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("cache", "expected an absolute path"),
        ("~other/cache", "expected an absolute path"),
        ("~/", "your whole home folder"),
        ("/home", "your whole home folder"),
        ("/", "your whole home folder"),
        ("~/work", "it contains the project"),
        ("~/work/project/sub", "is in the project"),
        ("/proc/1", "belongs to the system"),
        ("/run/user/1000", "belongs to the system"),
        ("/var/run/docker.sock", "belongs to the system"),
        ("~/.config/quintet", "Quintet's own"),
        ("~/.local", "Quintet's own"),
        ("~/.ssh", "may contain secrets"),
        ("~/.ssh/config", "may contain secrets"),
        ("~/.aws", "may contain secrets"),
        ("~/.gnupg", "may contain secrets"),
        ("~/x/../.ssh", "may contain secrets"),
        ("~/keys/id_rsa", "may contain secrets"),
        ("~/.docker", ".docker/config.json is in it"),
        ("~/.kube", ".kube/config is in it"),
    ],
)
def test_what_would_uncover_more_than_a_folder_is_refused(entry: str, why: str) -> None:
    for name, found in (("sandbox.show", places(entry)), ("sandbox.give", places(give=(entry,)))):
        assert found.shown == found.given == ()
        [(setting, written, reason)] = found.refused
        assert (setting, written) == (name, entry)
        assert why in reason
        assert found.warnings() == [f'{name} = ["{entry}"] is not followed: {reason}']


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("~/.local/bin", "programs that you start"),
        ("~/.cargo/registry", "programs that you start"),
        ("~/tools/bin", "programs that you start"),
        ("/opt/tool", "belongs to the system"),
        ("~/.config/systemd", "what your own programs run"),
        ("~/.config/fish", "what your own programs run"),
        ("~/.claude", "what your own programs run"),
    ],
)
def test_what_may_be_shown_is_not_always_given(entry: str, why: str) -> None:
    assert places(entry).shown == (entry.replace("~", HOME),)
    [(_, _, reason)] = places(give=(entry,)).refused
    assert why in reason


def test_a_link_is_judged_by_where_it_leads() -> None:
    links = {f"{HOME}/cache": f"{HOME}/.ssh", f"{HOME}/ok": "/data/ok"}
    found = places("~/cache", "~/ok", links=links)
    assert found.shown == (f"{HOME}/ok",)
    assert "secrets" in found.refused[0][2]
    assert "secrets" in places(give=("~/cache",), links=links).refused[0][2]


def test_a_socket_is_never_shown() -> None:
    assert "leads out of the sandbox" in places("~/app.sock", kind="other").refused[0][2]
    assert "only a folder" in places(give=("~/notes.txt",), kind="file").refused[0][2]


def test_a_grant_gets_what_is_shown_to_read_and_what_is_given_to_write_where_it_writes() -> None:
    found = places("~/.cache/pre-commit", "~/given/sub", give=("~/given",))
    assert found == OpenedPlaces((f"{HOME}/.cache/pre-commit",), (f"{HOME}/given",))
    assert found.words() == f"shows {HOME}/.cache/pre-commit · gives {HOME}/given"
    writes = Grant((Effect.EXECUTE,), ("/p",), read_roots=("/x",))
    assert opened(writes, found, writes=True) == Grant(
        (Effect.EXECUTE,), ("/p", f"{HOME}/given"), read_roots=("/x", f"{HOME}/.cache/pre-commit")
    )
    reads = opened(Grant((Effect.READ,)), found, writes=False)
    assert reads == Grant((Effect.READ,), read_roots=(f"{HOME}/.cache/pre-commit", f"{HOME}/given"))
    assert opened(writes, NOTHING_OPENED, writes=True) is writes


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("bash: line 1: /home/u/x/run: No such file or directory", "/home/u/x/run"),
        ("python3: can't open file '/home/u/a b.py': [Errno 2] No such file or directory", "/home/u/a b.py"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/home/u/data.csv'", "/home/u/data.csv"),
        ("sh: 2: exec: /home/u/npm/node_modules/.bin/x: not found", "/home/u/npm/node_modules/.bin/x"),
        ("Error: ENOENT: no such file or directory, open '/home/u/conf.json'", "/home/u/conf.json"),
        ("Error: Cannot find module '/home/u/tool/index.js'", "/home/u/tool/index.js"),
        ("error: cannot run .git/hooks/pre-commit: No such file or directory", "/p/.git/hooks/pre-commit"),
        ("env: '/home/u/venv/bin/python': No such file or directory", "/home/u/venv/bin/python"),
        ("cat: ~/notes.txt: No such file or directory", "/home/u/notes.txt"),
        ("error: Couldn't load public key /home/u/id_sign: No such file or directory?", ""),
        ('Load key "/home/u/id_sign": No such file or directory', ""),
        ("Warning: Identity file /home/u/id_x not accessible: No such file or directory.", ""),
        ("/home/u/x is fine", ""),
        ("see https://example.org/home/u: not found", ""),
    ],
)
def test_the_paths_that_a_program_could_not_open_are_read_from_its_words(said: str, path: str) -> None:
    assert (tried(said, "/p", HOME) or ("",))[0] == path


def test_a_relative_path_is_one_of_the_folder_and_a_script_names_its_interpreter() -> None:
    assert tried("bash: ./run.sh: cannot execute: required file not found", "/p", HOME) == ("/p/run.sh",)
    assert interpreters(b"#!/home/u/venv/bin/python -u\nimport os\n") == ("/home/u/venv/bin/python",)
    assert interpreters(b"#! /usr/bin/env python3\n") == ("/usr/bin/env",)
    assert interpreters(b"plain text") == ()
