"""Paths and patterns of a shell line: where they lead, and what a pattern may stand for."""

from __future__ import annotations

import posixpath
from fnmatch import filter as filtered

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.permission.effects import MACHINE_FACTS
from quintet.domain.permission.protected_paths import GUARDED

_HIDDEN = (".env", ".env.local", ".env.production", ".netrc", ".ssh", ".aws")
_OPEN = ("id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "server.pem", "key.pem")
WILD = frozenset("*?[")
_CHOICE = regex(r"\[[^][]*+\]")
SAFE_DEVICES = word_set(
    "/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/zero /dev/urandom /dev/random /dev/full"
)


FILES_OF_THE_KERNEL = SAFE_DEVICES | MACHINE_FACTS  # that are as harmless to read as any file
SYSTEM_FOLDERS = word_set("/bin /usr/bin /usr/local/bin /sbin /usr/sbin")


def is_system(folder: str) -> bool:
    """Whether what stands in this folder is the system's own, and so what its name says."""
    whole = posixpath.normpath(folder)
    return (whole[1:] if whole[:2] == "//" else whole) in SYSTEM_FOLDERS


def joined(folder: str, path: str) -> str:
    if path[:1] in ("/", "~") or not folder:
        whole = posixpath.normpath(path) if ".." in path or "//" in path else path
        return whole if path[:1] != "~" or whole[:1] == "~" else f"/{whole}"  # above the home is not the project
    if ".." in path or "./" in path or "//" in path or path == ".":
        return posixpath.normpath(f"{folder}/{path}")
    return f"{folder}/{path}"


def lying_in(folder: str, path: str) -> str:
    """A path in a folder as it is written, where `..` may lead elsewhere than its words say."""
    return path if path[:1] in ("/", "~") or not folder else f"{folder}/{path}"


def guarded(pattern: str) -> str:
    """The protected path that a pattern may stand for."""
    if WILD.isdisjoint(pattern):
        return pattern
    parts = pattern.split("/")
    for place in range(len(parts)):
        for names in GUARDED:
            here = parts[place : place + len(names)]
            if len(here) == len(names) and all(map(_fits, names, here)):
                return "/".join((*parts[:place], *names, *parts[place + len(names) :]))
    return pattern


def _fits(name: str, part: str) -> bool:
    """Whether a shell's pattern may stand for a name; a leading dot has to be written."""
    if WILD.isdisjoint(part):
        return name == part
    return (name[0] != "." or part[0] in ".[") and bool(filtered((name,), part))


def secrets(pattern: str) -> list[str]:
    """The typical secrets a pattern would match; one that matches nearly everything is no way to name them."""
    found: list[str] = []
    before, _, last = pattern.rpartition("/")
    for part, place in ((last, before), *((middle, "") for middle in before.split("/"))):
        if WILD.isdisjoint(part):
            continue  # a name, and named already
        if part[0] == ".":
            found += [posixpath.join(place, secret) for secret in filtered(_HIDDEN, part)]
        elif sum(map(str.isalnum, _CHOICE.sub("", part) if "[" in part else part)) > 1:
            found += [posixpath.join(place, secret) for secret in filtered(_OPEN, part)]
    return found
