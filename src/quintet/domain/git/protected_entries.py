"""What is protected among the entries of git's index and the changes of commits, and the words about it.

Everything is as git lists it, ending in NUL: `ls-files --stage -z`, and `log --raw -z --format=%H`. Blobs are named by
their digest, so a content can be compared without being read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from quintet.domain.permission.protected_paths import protected_at
from quintet.domain.permission.protection_notices import path_list


class GitEntry(Struct, frozen=True):
    path: str
    blob: str


def staged(said: bytes) -> frozenset[bytes]:
    """The lines of an index, to be compared with those of another moment."""
    return frozenset(said.split(b"\0")[:-1])


def entries(lines: Iterable[bytes], is_kept: Callable[[str], bool]) -> list[GitEntry]:
    """Of these lines of an index those that are protected, in order."""
    found = []
    for line in lines:
        about, _, path = line.partition(b"\t")
        words, name = about.split(), path.decode("utf-8", "surrogateescape")
        if len(words) == 3 and is_kept(name):
            found.append(GitEntry(name, words[1].decode()))
    return sorted(found, key=lambda one: (one.path, one.blob))


def changes(said: bytes) -> Iterator[tuple[str, GitEntry]]:
    """The commits and what each of them put where; of a deletion nothing.

    A merge has a colon for each parent, and shows only what it has from none of them.
    """
    commit = ""
    parts = iter(said.split(b"\0"))
    for part in parts:
        text = part.lstrip(b"\n").decode("utf-8", "surrogateescape")
        if text[:1] != ":":
            commit = text or commit
            continue
        path = next(parts, b"").decode("utf-8", "surrogateescape")
        parents = len(text) - len(text.lstrip(":"))
        fields = text[parents:].split()
        if len(fields) == 2 * parents + 3 and fields[2 * parents + 1].strip("0"):
            yield commit, GitEntry(path, fields[2 * parents + 1])


def blob_of(content: bytes, like: str) -> str:
    """The name that git gives a content; `like` is a name of the same repository, which says by which digest."""
    data = b"blob %d\0" % len(content) + content
    return (hashlib.sha256 if len(like) == 64 else hashlib.sha1)(data, usedforsecurity=False).hexdigest()


def blobs_of(content: bytes, like: str) -> set[str]:
    """The same, and as git stores a text that has the line ends of Windows."""
    return {blob_of(content, like), blob_of(content.replace(b"\r\n", b"\n"), like)}


def root_of(path: str) -> str:
    """The protected file or folder that a protected path lies in: `.github/workflows` of `.github/workflows/a.yml`."""
    parts = path.split("/")
    for place in range(1, len(parts) + 1):
        above = "/".join(parts[:place])
        if protected_at(above):
            return above
    return path


def put_back(lines: Iterable[bytes], paths: Iterable[str]) -> bytes:
    """What `update-index --index-info -z` reads to have these paths again as they were in `lines`.

    What lay in a folder that one of them took the place of is put back too, or a file in place of a folder.
    """
    wanted = {path.encode("utf-8", "surrogateescape") for path in paths}
    said = [b"0 %s\t%s\0" % (b"0" * 40, path) for path in sorted(wanted)]
    for line in sorted(lines):
        path = line.partition(b"\t")[2]
        if any(path == one or path.startswith(one + b"/") or one.startswith(path + b"/") for one in wanted):
            said.append(line + b"\0")
    return b"".join(said)


def contents(lines: Iterable[bytes]) -> frozenset[tuple[str, str]]:
    """The paths and contents of an index."""
    parts = (line.decode("utf-8", "surrogateescape").partition("\t") for line in lines)
    return frozenset((path, about.split()[1]) for about, _, path in parts)


def about_index(paths: list[str], wrong: str = "", where: str = "") -> str:
    """`wrong` is why it could not be put back; `where` names the index of another work tree, which is left alone."""
    held = f"{path_list(paths)}: protected, but staged by a command"
    if where:
        return f"{held} in {where}; check it before you commit or check out there"
    return f"{held}; it could not be restored ({wrong})" if wrong else f"{held}; the index was restored"


def about_replaced(ref: str) -> str:
    return f"{ref} appeared: git shows other content instead of that object, until you run git replace -d"


def about_commit(commit: str, paths: list[str]) -> str:
    return (
        f"commit {commit[:12]} contains protected content that was not approved: {path_list(paths)}; "
        f"check it before you check it out, merge or push: git show {commit[:12]}"
    )
