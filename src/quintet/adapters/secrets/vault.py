"""The secrets of a session: known so that they can be kept back, and given to a child the gate granted them to.

They come from the environment, the user's own file and keyring, and the project's env files, in this order; credentials
in git's configuration are known too, but given to nobody. A file that changed is read again. Values leave by `values`
alone, as variables of a child.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from quintet.adapters.files.paths import Places, config_home
from quintet.adapters.git.git_folders import git_folders
from quintet.adapters.secrets import store as secret_store
from quintet.domain.base.database_url import VARIABLE, secrets_in
from quintet.domain.base.env_file import read_env
from quintet.domain.base.redaction import Chunks, Redaction, Stream
from quintet.domain.git.plain_git import credentials_in
from quintet.domain.permission.exposure import exposures, is_secret_name
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.domain.ports.ports import SecretName
from quintet.domain.settings.settings import SecretSettings, Settings

T = TypeVar("T")
MOST_BYTES = 1_000_000  # of an env file, or a configuration
MOST_MODULES = 100
HEADERS = ("authorization", "proxy-authorization", "cookie")


class Vault:
    def __init__(self, places: Places, settings: Settings, environment: Mapping[str, str] | None = None) -> None:
        self._places = places
        self._settings: SecretSettings = settings.secrets
        self._environment = os.environ if environment is None else environment
        keys = [model.api_key_env for model in settings.models.values()]
        keys += [*_variables(settings.web), *(name for one in settings.features.values() for name in _variables(one))]
        self._keys = frozenset(keys)
        self._learnt: set[str] = set(secrets_in(self._environment.get(VARIABLE, "")))
        self._stamps: tuple[Any, ...] | None = None
        self._held: dict[str, tuple[str, str]] = {}  # name → value, source
        self._redaction = Redaction()
        for model in settings.models.values():
            self.learn_from(model.headers)
        self._refresh()

    def names(self) -> list[SecretName]:
        self._refresh()
        exposed = exposures(self._settings.expose)
        known = self._redaction.secrets
        return [
            SecretName(name, source, exposed.get(name, ()), value.strip() in known)
            for name, (value, source) in sorted(self._held.items())
        ]

    def values(self, names: Iterable[str]) -> dict[str, str]:
        """The variables for a child that was granted these."""
        self._refresh()
        return {name: self._held[name][0] for name in names if name in self._held}

    def learn(self, secret: str) -> None:
        """Something that turned out to be one, from wherever it came."""
        if secret and secret not in self._learnt:
            self._learnt.add(secret)
            self._stamps = None

    def learn_from(self, named: Mapping[str, str]) -> None:
        """What among variables or headers is a secret by its name, whole and without the word before it."""
        for name, value in named.items():
            if name.lower() in HEADERS or self._is_secret(name.replace("-", "_")):
                for part in (value, *value.split()):
                    self.learn(part)

    # ── the redactor

    def text(self, text: str) -> str:
        return self._now().text(text)

    def fresh(self) -> None:
        self._refresh()

    @property
    def known(self) -> Redaction:
        return self._now()

    def clean(self, value: T) -> T:
        return self._now().clean(value)

    def in_json(self, data: bytes) -> bool:
        return self._now().in_json(data)

    def texts(self) -> Stream:
        self._refresh()
        return self._redaction.texts()

    def chunks(self) -> Chunks:
        self._refresh()
        return self._redaction.chunks()

    def _now(self) -> Redaction:
        if self._stamps is None:
            self._refresh()
        return self._redaction

    # ── where they come from

    def _refresh(self) -> None:
        """Take in what files and keyring hold by now."""
        files, configs = self._files(), self._configs()
        stamps = tuple(
            map(_stamp, (*files, *configs, secret_store.file_of(self._places), secret_store.index_of(self._places)))
        )
        if stamps == self._stamps:
            return
        self._stamps = stamps
        held: dict[str, tuple[str, str]] = {}
        every: set[str] = set(self._learnt)
        for source, values in self._sources(files):
            for name, value in values.items():
                held.setdefault(name, (value, source))
                every.add(value)
        if configs:
            every.update(*(credentials_in(_text(path)) for path in configs))
        self._held, self._redaction = held, Redaction(sorted(every))

    def _sources(self, files: list[str]) -> Iterable[tuple[str, dict[str, str]]]:
        yield "environment", {n: v for n, v in self._environment.items() if v and self._is_secret(n)}
        yield secret_store.file_of(self._places), secret_store.kept(self._places)
        yield "keyring", secret_store.in_keyring(self._places)
        for path in files:
            values = read_env(_text(path))
            yield os.path.basename(path), {n: v for n, v in values.items() if v and self._is_secret(n)}

    def _configs(self) -> list[str]:
        """Git's configuration, of the repository with its submodules and of the user: any of them may be printed."""
        found = git_folders(self._places.root)
        gits = [*found.linked, *_below(os.path.join(found.common, "modules"))] if found else []
        own = os.path.join(config_home(), "git/config")
        paths = [os.path.join(git, name) for git in gits for name in ("config", "config.worktree")]
        return [path for path in (*paths, own, os.path.expanduser("~/.gitconfig")) if os.path.isfile(path)]

    def _is_secret(self, name: str) -> bool:
        if is_secret_name(name, self._settings.ignore):
            return False
        return name in self._keys or is_secret_name(name, self._settings.patterns)

    def _files(self) -> list[str]:
        try:
            names = sorted(os.listdir(self._places.root))
        except OSError:
            return []
        fits = [n for n in names if any(fnmatchcase(n, pattern) for pattern in self._settings.files)]
        return [
            os.path.join(self._places.root, n) for n in fits if PROTECTION.is_secret(n) or n in self._settings.files
        ]


def _below(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))[:MOST_MODULES]]
    except OSError:
        return []


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, found.st_mtime_ns, found.st_size


def _text(path: str) -> str:
    try:
        if os.path.isfile(path) and os.path.getsize(path) <= MOST_BYTES:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
    except OSError:
        pass  # what cannot be read by us cannot be shown by us
    return ""


def _variables(table: object) -> list[str]:
    """The variables that a table of settings names as holding a key or a token: those of its fields `…_env`."""
    fields = getattr(table, "__struct_fields__", ())
    return [getattr(table, name) for name in fields if name.endswith("_env") and isinstance(getattr(table, name), str)]
