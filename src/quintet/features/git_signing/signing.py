"""What makes a signature, and a commit with one. Pure.

The program comes from the user's own configuration or is git's usual one, never from a repository. A repository may
name which of the user's keys it wants; a key that lies in the project is none of theirs.
"""

from __future__ import annotations

import binascii
import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.protected_paths import inside

MOST_BYTES = 90_000  # of a commit: it passes through a command line
_ARMOR = re.compile(rb"-----BEGIN (?:PGP|SSH) SIGNATURE-----\n.*-----END (?:PGP|SSH) SIGNATURE-----\n?", re.S)


class SigningPlan(Struct, frozen=True):
    program: str  # its name or path, to be found
    words: tuple[str, ...]  # behind it; "{key}" stands for a file with the literal key
    literal: str = ""  # a public key that the configuration holds itself


def planned(own: Sequence[tuple[str, str]], theirs: Sequence[tuple[str, str]], root: str, home: str) -> SigningPlan:
    """How a commit of a repository at `root` is signed, by the user's configuration and the repository's."""
    mine, chosen = dict(own), {**dict(own), **dict(theirs)}
    kind, key = chosen.get("gpg.format", "openpgp"), chosen.get("user.signingkey", "")
    if kind == "openpgp":
        program = mine.get("gpg.openpgp.program") or mine.get("gpg.program") or "gpg"
        return SigningPlan(program, ("--status-fd=2", "-bsau", _key(key or _identity(chosen))))
    if kind != "ssh":
        raise ToolFailed(f"gpg.format is {kind}; only openpgp and ssh signatures are supported")
    program = mine.get("gpg.ssh.program") or "ssh-keygen"
    literal = key.removeprefix("key::")
    if literal != key or key.startswith("ssh-"):
        return SigningPlan(program, ("-Y", "sign", "-n", "git", "-U", "-f", "{key}"), literal)
    return SigningPlan(program, ("-Y", "sign", "-n", "git", "-f", _key_file(_key(key), root, home)))


def _identity(chosen: Mapping[str, str]) -> str:
    return f"{chosen.get('user.name', '')} <{chosen['user.email']}>" if chosen.get("user.email") else ""


def _key(key: str) -> str:
    if not key or key.startswith("-") or not key.isprintable():
        raise ToolFailed("git has no signing key; the user can set one: git config --global user.signingkey …")
    return key


def _key_file(key: str, root: str, home: str) -> str:
    path = posixpath.normpath(posixpath.join(home, key[2:] if key[:2] == "~/" else key))
    if inside(path, root) is not None:
        raise ToolFailed(f"{key}: this key is in the project; only the user's own keys can sign")
    return path


def checked(raw: bytes, commit: str, before: str) -> None:
    """That these bytes are this commit, and that it follows on what was there when the user was asked."""
    digest = hashlib.sha256 if len(commit) == 64 else hashlib.sha1
    if digest(b"commit %d\0%b" % (len(raw), raw)).hexdigest() != commit:
        raise ToolFailed("git showed a different commit than it named")
    head = raw.partition(b"\n\n")[0].decode("utf-8", "replace").splitlines()
    parents = [line.partition(" ")[2] for line in head if line.startswith("parent ")]
    if (parents[:1] or [""])[0] != before:
        raise ToolFailed("something moved HEAD while the commit was made")
    if len(raw) > MOST_BYTES:
        raise ToolFailed(f"the commit has {len(raw)} bytes, and at most {MOST_BYTES} can be signed here")


def armored(said: bytes) -> bytes:
    """The signature in what a program printed; empty if there is none."""
    found = _ARMOR.search(said.replace(b"\r\n", b"\n"))
    return found[0].rstrip(b"\n") if found else b""


def signed(raw: bytes, signature: bytes, commit: str) -> bytes:
    """The commit with a signature, where git puts it."""
    name = b"gpgsig-sha256" if len(commit) == 64 else b"gpgsig"
    head, blank, text = raw.partition(b"\n\n")
    return b"%b\n%b %b%b%b" % (head, name, signature.replace(b"\n", b"\n "), blank, text)


def as_text(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def as_bytes(text: str) -> bytes:
    return binascii.a2b_base64(text)
