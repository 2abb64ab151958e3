"""Files of the project as the index opens them: by the names they were listed with, and never through a link."""

from __future__ import annotations

import os

from quintet.adapters.files.project_files import open_beneath


def open_in(root: str, path: str) -> int:
    """A file of the project to read. No part of its path may be a link: it was listed by the name it has, and whoever
    puts a link in the place of a folder since would have another file read."""
    base = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return open_beneath(base, path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, links=False)
    finally:
        os.close(base)
