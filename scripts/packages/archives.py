"""Archives whose bytes depend on their contents alone: every entry has one time, one owner, and a place by its name.

A tree is a table of paths: what a file holds and its mode, or where a link leads.
"""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

SHEBANG = b"#!/usr/bin/env python3\n"


@dataclass(frozen=True)
class Entry:
    data: bytes = b""
    mode: int = 0o644
    link: str = ""


Tree = dict[str, Entry]


def read_tree(folder: Path) -> Tree:
    """The files below a folder, without what Python compiles."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            executable = path.stat().st_mode & stat.S_IXUSR
            found[path.relative_to(folder).as_posix()] = Entry(path.read_bytes(), 0o755 if executable else 0o644)
    return found


def zipped(tree: Tree, epoch: int, first: bytes = b"") -> bytes:
    """A zip archive; `first` stands before it, which is how a program of Python's begins."""
    out = io.BytesIO()
    out.write(first)
    moment = time.gmtime(max(epoch, 315532800))[:6]  # a zip knows no time before 1980
    with zipfile.ZipFile(out, "a") as archive:
        for name, entry in sorted(tree.items()):
            info = zipfile.ZipInfo(name, moment)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | entry.mode) << 16
            archive.writestr(info, entry.data, compresslevel=9)
    return out.getvalue()


def tarred(tree: Tree, epoch: int) -> bytes:
    """A compressed tar archive with the folders that its entries need, all of root's."""
    folders = {str(parent) for name in tree for parent in Path(name).parents if str(parent) != "."}
    out = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", 9, out, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name in sorted({*folders, *tree}):
            info = tarfile.TarInfo(f"./{name}")
            info.mtime, info.uname, info.gname = epoch, "root", "root"
            entry = tree.get(name)
            if entry is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            elif entry.link:
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
                archive.addfile(info)
            else:
                info.size, info.mode = len(entry.data), entry.mode
                archive.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def debian(control: str, tree: Tree, epoch: int, afterwards: str = "") -> bytes:
    """A Debian package: an ar archive of its format, its control file, what runs when it is removed, and its files."""
    about = {"control": Entry(control.encode())}
    if afterwards:
        about["postrm"] = Entry(afterwards.encode(), 0o755)
    parts = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": tarred(about, epoch),
        "data.tar.gz": tarred(tree, epoch),
    }
    made = b"!<arch>\n"
    for name, data in parts.items():
        made += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data
        made += b"\n" * (len(data) % 2)
    return made
