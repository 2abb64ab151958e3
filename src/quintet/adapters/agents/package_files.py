"""The files of an agent's package, read as text: nothing outside its folder, no link that leads out, nothing huge."""

from __future__ import annotations

import os

from quintet.adapters.files.located_yaml import NotReadable
from quintet.adapters.files.project_files import ProjectFiles
from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.files import FolderEntry

MOST_BYTES = 400_000
MOST_ENTRIES = 500


class PackageFiles:
    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
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
            raise NotReadable(1, f"{path} leads out of the package")
        try:
            if (size := self._files.info(inside).size) > MOST_BYTES:
                raise NotReadable(1, f"{size} bytes; the most that is read is {MOST_BYTES}")
            data = self._files.read(inside)
        except ToolFailed as error:
            problem = "leads out of the package" if "outside" in error.message else "not a plain file"
            raise NotReadable(1, problem) from None
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
