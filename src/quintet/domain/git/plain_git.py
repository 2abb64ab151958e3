"""What Quintet's own git takes over of a repository's configuration, credentials in it, and how what git says is read.

A repository's configuration can name programs in more places than can be listed, so what is taken over is listed
instead: values that say how files are compared, and which branch follows which. Nothing of it names a program.
Credentials are looked for in text, not as git would: what is found too much is starred, and what is missed leaves.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator

from quintet.domain.base.lazy_regex import regex

_WORDS = regex(r"[A-Za-z0-9.-]{1,40}")
_COMPARING = frozenset(
    f"core.{name}"
    for name in (
        *("filemode", "symlinks", "ignorecase", "precomposeunicode", "trustctime", "checkstat"),
        *("autocrlf", "eol", "quotepath", "abbrev"),
    )
)
_FORMAT = frozenset({"extensions.objectformat", "extensions.refstorage"})
_FOLLOWING = regex(r"(?:branch\..*\.(?:remote|merge)|remote\..*\.(?:fetch|url))", re.S)
_PATHS = frozenset({"core.excludesfile", "core.attributesfile"})  # of the user's own configuration only
_HEAD = regex(r"ref: refs/heads/(\S.*)")
_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECTION = regex(r"\s*\[\s*([A-Za-z0-9.-]+)\s*\]\s*(?:[#;].*)?")
_WORK_TREE = regex(r"\s*worktree\s*=\s*(?:\"([^\"\\]*)\"|([^\"\\#;]*?))\s*(?:[#;].*)?", re.I)
_SIZED = rb"([^\0]*)\0  ctime: [^\0]*?\n  size: (\d+)\tflags: [0-9a-f]+\n"


def read_listed(said: bytes) -> list[tuple[str, str]]:
    """Names and values from `git config --list -z`; a name without a value means yes."""
    pairs = []
    for entry in said.split(b"\0")[:-1]:
        name, equals, value = entry.decode("utf-8", "surrogateescape").partition("\n")
        pairs.append((name, value if equals else "true"))
    return pairs


def taken_over(pairs: Iterable[tuple[str, str]], *, of_the_user: bool = False) -> list[tuple[str, str]]:
    """Of a configuration what names no program."""
    return [(name, value) for name, value in pairs if _is_plain(name, value, of_the_user)]


def _is_plain(name: str, value: str, of_the_user: bool) -> bool:
    if any(letter in name + value for letter in "\n\r\0"):
        return False
    if name in _COMPARING or (name in _FORMAT and not of_the_user):
        return _WORDS.fullmatch(value) is not None
    return name in _PATHS if of_the_user else _FOLLOWING.fullmatch(name) is not None


def config_text(pairs: Iterable[tuple[str, str]]) -> str:
    """A configuration file of these names and values."""
    lines = []
    for name, value in pairs:
        section, _, rest = name.partition(".")
        middle, _, key = rest.rpartition(".")
        head = f'{section} "{_escaped(middle)}"' if middle else section
        lines.append(f'[{head}]\n\t{key} = "{_escaped(value)}"\n')
    return "".join(lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def is_head(text: str) -> bool:
    """Whether a HEAD says where it is: on a branch, or at a commit."""
    line = text.rstrip("\n")
    return "\n" not in line and bool(_HEAD.fullmatch(line) or _COMMIT.fullmatch(line))


def branch_of(head: str) -> str:
    """The branch that a HEAD is on, `(detached)` if it is on none; empty if it is no HEAD."""
    line = head.rstrip("\n")
    if not is_head(head):
        return ""
    on = _HEAD.fullmatch(line)
    return on[1] if on else "(detached)"


def work_tree_of(config: str) -> str:
    """`core.worktree` of a configuration as git itself writes it; empty if it is not there, or written otherwise."""
    section, found = "", ""
    for line in config.splitlines():
        if line.lstrip().startswith("["):
            begun = _SECTION.fullmatch(line)
            section = begun[1].lower() if begun else ""
        elif section == "core" and (said := _WORK_TREE.fullmatch(line)):
            found = said[1] or said[2] or ""
    return found


def touched(status: bytes) -> list[bytes] | None:
    """The files that `git status --porcelain=v2 -z` shows with another content only; None if it shows any other change.

    Whether such a file is changed takes a look at what converts it.
    """
    paths = []
    for entry in status.split(b"\0")[:-1]:
        fields = entry.split(b" ", 8)
        if fields[:3] != [b"1", b".M", b"N..."] or len(fields) != 9 or len(set(fields[3:6])) != 1:
            return None
        paths.append(fields[8])
    return paths


def sizes(said: bytes) -> dict[bytes, int]:
    """Paths and the sizes they had, from `git ls-files -z --debug`."""
    return {entry[1]: int(entry[2]) for entry in re.finditer(_SIZED, said)}


_ADDRESS = regex(r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/\"'@]+(?:@[^\s/\"'@]+)*)@")
_HEADER = regex(r"extraheader\s*=\s*(.+)", re.I)
_NAMED = regex(r"^\s*\w*(?:token|pass|passwd|password|secret)\s*=\s*(.+)", re.I | re.M)
_ESCAPED = regex(r"(?:%[0-9A-Fa-f]{2})+")
_FOLDED = regex(r"\\\r?\n\s*")  # a value that goes on in the next line
_TOKEN = regex(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[\w.~+=-]{16,}")  # no name of a person or an organisation
_NO_SECRETS = frozenset({"x-oauth-basic", "x-access-token", "x-token-auth", "oauth2", "basic", "bearer"})


def credentials_in(config: str) -> set[str]:
    """What in a configuration is nobody else's business; a short one also with the name before it."""
    config = _FOLDED.sub("", config)
    found: set[str] = set()
    for address in _ADDRESS.finditer(config):
        for form in {address[1], _ESCAPED.sub(_unescaped, address[1])}:
            found.update(_of_user(form))
    for header in _HEADER.finditer(config):
        found.update(_of_header(header[1].strip().strip('"')))
    found.update(_plain(named[1]) for named in _NAMED.finditer(config))
    return {one for one in found if one and one.lower() not in _NO_SECRETS}


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")


def _of_user(given: str) -> Iterator[str]:
    """Of `name:password`, `token`, `token:x-oauth-basic`."""
    name, colon, password = given.partition(":")
    if colon and password and password.lower() not in _NO_SECRETS:
        yield given
        yield password
    if _TOKEN.fullmatch(name):
        yield name


def _of_header(header: str) -> Iterator[str]:
    value = header.partition(":")[2].strip()
    yield value
    for word in value.split():
        yield word
        try:
            yield from _of_user(binascii.a2b_base64(word.encode()).decode())
        except (ValueError, UnicodeError):  # no base64
            continue


def _plain(value: str) -> str:
    """A value without its quotes, or the remark behind it."""
    value = value.strip()
    return value[1:].partition('"')[0] if value[:1] == '"' else re.split(r"\s[#;]", value)[0].strip()
