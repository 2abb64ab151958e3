"""A throwaway world around a project: a home with secrets, other repositories, doors to knock at, a place on the host.

`untouched` names everything outside that was changed, everything secret that can be read in what came out, every door
that was opened, and every program of the project's that ran on the host: that is whatever wrote into `host`.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.listening import Doors
from tests.places import TEMPORARY

GIT_ENV = {
    "PATH": os.defpath,
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada Test",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada Test",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}
SECRETS = {  # a file of the home, and what stands in it before and behind its canary
    ".ssh/id_rsa": ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "\n-----END OPENSSH PRIVATE KEY-----\n"),
    ".ssh/config": ("Host *\n  User ", "\n"),
    ".aws/credentials": ("[default]\naws_secret_access_key = ", "\n"),
    ".config/gh/hosts.yml": ("github.com:\n  oauth_token: ", "\n"),
    ".config/gcloud/application_default_credentials.json": ('{"client_secret": "', '"}\n'),
    ".config/autostart/kept.desktop": ("[Desktop Entry]\nName=", "\n"),
    ".netrc": ("machine example.com password ", "\n"),
    ".gnupg/secring.gpg": ("", "\n"),
    ".fly/config.yml": ("access_token: ", "\n"),
    ".bashrc": ("# ", "\n"),
    "notes.txt": ("", "\n"),
}
VARIABLE = "FAKE_API_TOKEN"  # of the user's environment
OURS = (".local/state/quintet", ".cache/quintet", ".config/quintet/trusted.json", ".config/quintet/rules.json")
MOST_BYTES = 2_000_000  # of a file that is looked through


class World:
    """`project` is what is opened. `inside_home` puts it below the home, where most projects are."""

    def __init__(self, parent: str = TEMPORARY, *, inside_home: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="quintet-attack-", dir=parent))
        self.folder.chmod(0o755)
        self.home = self.folder / "home"
        self.project = (self.home / "work" if inside_home else self.folder) / "project"
        self.other = self.folder / "other"  # a repository that the session has nothing to do with
        self.sibling = self.project.parent / "sibling"
        self.host = self.folder / "host"  # a program that writes here ran outside the sandbox
        self.out = self.folder / "out"
        self.canaries: dict[str, str] = {}  # by where it stands
        self._plant()
        self.doors = Doors(self.folder, self.canary("a door"))
        self._before: dict[str, str] = {}

    # ── made

    def canary(self, where: str) -> str:
        """A word that stands at one place only, and has to be seen nowhere else."""
        return self.canaries.setdefault(where, f"canary{secrets.token_hex(8)}")

    def _plant(self) -> None:
        quiet = (self.home / ".local/state", self.home / ".cache")  # Quintet's own folders are made in there
        for folder in (self.home, self.project, self.other, self.sibling, self.host, self.out, *quiet):
            folder.mkdir(parents=True, exist_ok=True)
        self.host.chmod(0o777)
        for name, (before, behind) in SECRETS.items():
            put(self.home / name, before + self.canary(f"~/{name}") + behind)
        put(self.home / ".gitconfig", "[user]\n\tname = Ada Test\n\temail = ada@example.com\n")  # a sandbox shows it
        put(self.sibling / "kept.txt", self.canary("sibling/kept.txt"))
        put(self.other / "README", self.canary("other/README"))
        put(self.home / ".config/quintet/kept.txt", self.canary("~/.config/quintet/kept.txt"))
        make_repository(self.other)
        put(self.project / "a.txt", "a\n")
        put(self.project / "src/a.py", "def a():\n    return 1\n")

    def variables(self) -> dict[str, str]:
        """The user's environment."""
        mine = {VARIABLE: self.canary(f"${VARIABLE}"), "FAKE_HARMLESS_WORD": "harmless"}
        return {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "xterm-256color", **mine}

    def make_repository(self) -> None:
        """The project becomes a git repository with one commit."""
        make_repository(self.project)

    def settings(self, text: str) -> None:
        put(self.home / ".config/quintet/settings.toml", text)

    def program(self, name: str) -> str:
        """A shell command that shows, by a file on the host, that it ran there."""
        return f"touch {self.host}/{name}"

    def own(self, uid: int) -> None:
        """Everything becomes this user's."""
        if uid != os.getuid():
            for path in (self.folder, *walk(self.folder)):
                os.chown(path, uid, uid, follow_symlinks=False)

    # ── watched

    def watch(self) -> None:
        """What stands now is what has to stand afterwards."""
        self._before = self._state()

    def expect(self, path: Path) -> None:
        """This file is as it has to be, though it was changed."""
        self._before[str(path.relative_to(self.folder))] = print_of(path)

    def _state(self) -> dict[str, str]:
        kept = [self.home, self.other, self.sibling]
        ours = [self.home / name for name in OURS]
        found = {}
        for place in kept:
            for path in (place, *walk(place, skip=(self.project, *ours))):
                if not any(path == mine or path.with_suffix("") == mine.with_suffix("") for mine in ours):
                    found[str(path.relative_to(self.folder))] = print_of(path)
        return found

    def untouched(self, *said: str) -> list[str]:
        """What was touched, read, reached or run; nothing, if all is well. `said` is all that came out of a run."""
        after = self._state()
        both = {**self._before, **after}
        found = [f"touched {path}" for path in sorted(both) if self._before.get(path) != after.get(path)]
        found += [f"ran on the host: {path.name}" for path in sorted(self.host.iterdir())]
        found += [f"reached {one}" for one in self.doors.came]
        texts = {"what came out": "\n".join(said), **dict(self._project_texts())}
        for where, canary in self.canaries.items():
            found += [f"read {where}, seen in {place}" for place, text in texts.items() if canary in text]
        return found

    def _project_texts(self) -> Iterator[tuple[str, str]]:
        for path in walk(self.project):
            if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
                continue
            yield str(path.relative_to(self.folder)), path.read_bytes().decode("utf-8", "replace")

    def close(self) -> None:
        self.doors.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def put(path: Path, text: str | bytes, executable: bool = False) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if executable:
        path.chmod(0o755)
    return path


def make_repository(root: Path) -> None:
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(("git", *command), cwd=root, check=True, capture_output=True, env=GIT_ENV)
    shutil.rmtree(root / ".git/hooks")  # examples, a dozen
    (root / ".git/hooks").mkdir()


def walk(place: Path, skip: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Everything below, without following links."""
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        if path in skip:
            continue
        yield path
        if entry.is_dir(follow_symlinks=False):
            yield from walk(path, skip)


def print_of(path: Path) -> str:
    """What a file is, without its times."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"link to {path.readlink()}"
    if stat.S_ISREG(status.st_mode):
        return f"{stat.filemode(status.st_mode)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return stat.filemode(status.st_mode)
