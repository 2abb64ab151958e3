"""The files of an agent's package, read as text: nothing outside its folder, no link that leads out, nothing huge.

A menu item's data is parsed by its ending and given in a form that a model reads: JSON, or the text itself.
"""

from __future__ import annotations

import csv
import io
import json
import os

from quintet.adapters.files.located_yaml import NotReadable, read_json, read_yaml
from quintet.adapters.files.project_files import OutsideProject, ProjectFiles
from quintet.adapters.files.real_path import real_path
from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.files import FolderEntry

FORMATS = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".csv": "csv",
    ".md": "md",
    ".markdown": "md",
    ".txt": "txt",
}
MOST_BYTES = 400_000
MOST_ENTRIES = 500


class PathLeavesPackage(NotReadable):
    """A path, or a link on it, that leads out of the package."""


class PackageFiles:
    def __init__(self, root: str) -> None:
        self.root = real_path(root)
        self._files = ProjectFiles(self.root)

    def shown(self, path: str) -> str:
        return os.path.join(self.root, path)

    def relative(self, path: str) -> str | None:
        """A path inside, in its shortest form; None if it leads out."""
        if "\0" in path:
            return None
        shortest = os.path.normpath(os.path.join(self.root, path.replace("\\", "/")))
        inside = os.path.relpath(shortest, self.root)
        return None if inside == os.pardir or inside.startswith(os.pardir + os.sep) else inside

    def text(self, path: str) -> str:
        """A file's text, with plain line ends and no byte-order mark."""
        inside = self.relative(path)
        if inside is None:
            raise PathLeavesPackage(1, f"{path} leads out of the package")
        try:
            if (size := self._files.info(inside).size) > MOST_BYTES:
                raise NotReadable(1, f"{size} bytes; the limit is {MOST_BYTES}")
            data = self._files.read(inside)
        except OutsideProject:
            raise PathLeavesPackage(1, "leads out of the package") from None
        except ToolFailed:
            raise NotReadable(1, "not a plain file") from None
        except FileNotFoundError:
            raise NotReadable(1, "there is no such file") from None
        except OSError as error:
            raise NotReadable(1, f"cannot be read ({error.strerror})") from None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise NotReadable(data[: error.start].count(b"\n") + 1, "not UTF-8 text") from None
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def exists(self, path: str) -> bool:
        inside = self.relative(path)
        if inside is None:
            return False
        try:
            return self._files.info(inside).kind == "file"
        except (OSError, ToolFailed):
            return False

    def entries(self, path: str) -> list[FolderEntry]:
        """What a folder holds, sorted; nothing if it is no folder here."""
        inside = self.relative(path)
        try:
            return self._files.entries(inside)[:MOST_ENTRIES] if inside else []
        except (OSError, ToolFailed):
            return []


def parsed(format: str, text: str) -> str:
    """The data; NotReadable if it is not what its ending says."""
    match format:
        case "yaml":
            value = read_yaml(text).value
        case "json":
            value = read_json(text).value
        case "csv":
            value = _rows(text)
        case _:
            return text
    return json.dumps(value, ensure_ascii=False, indent=1)


def _rows(text: str) -> list[dict[str, str]]:
    try:
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise NotReadable(1, f"not valid CSV: {error}") from None
    heading, *lines = [row for row in rows if row] or [[]]
    for number, line in enumerate(lines, 2):
        if len(line) != len(heading):
            raise NotReadable(number, f"not valid CSV: {len(line)} values under {len(heading)} headings")
    return [dict(zip(heading, line, strict=True)) for line in lines]
