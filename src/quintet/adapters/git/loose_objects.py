"""Git's loose objects, written and read without git: what a file holds, under its name.

Enough to keep what a tool is about to overwrite at the price of one small file, and where there is no git at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib


class LooseObjects:
    def __init__(self, folder: str, algorithm: str = "sha1") -> None:
        self._folder = folder
        self._algorithm = algorithm

    def name(self, data: bytes) -> str:
        made = hashlib.new(self._algorithm, usedforsecurity=False)
        made.update(b"blob %d\0" % len(data))
        made.update(data)
        return made.hexdigest()

    def keep(self, data: bytes) -> str:
        """The name of the content, which is on disk when this returns."""
        name = self.name(data)
        path = self._path(name)
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)  # whoever tidies up leaves what was touched lately
            return name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{os.getpid()}.{id(data)}"
        with open(temporary, "wb") as file:
            file.write(zlib.compress(b"blob %d\0" % len(data) + data, 1))
        os.chmod(temporary, 0o444)
        os.replace(temporary, path)
        return name

    def read(self, name: str) -> bytes | None:
        """The content; None if it is not loose."""
        try:
            with open(self._path(name), "rb") as file:
                return zlib.decompress(file.read()).partition(b"\0")[2]
        except (FileNotFoundError, zlib.error):
            return None

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name[:2], name[2:])
