"""Files and folders that are nobody else's to read, whatever the umask: `open(path, "w", opener=private)`."""

from __future__ import annotations

import os


def private(path: str, flags: int) -> int:
    """What `open` gets its handle from: a file that is made is 0600."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def private_folder(path: str) -> None:
    """Make a folder and those above it that are missing, all of them 0700; `os.makedirs` does so for the last alone."""
    if not os.path.isdir(path):
        if above := os.path.dirname(path):
            private_folder(above)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
