"""Imports from a folder by source alone: no cached bytecode, no compiled extension.

Trust covers the sources of a folder. Python would rather load what lies beside them, which nobody looked at.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

_folders: set[str] = set()


class _SourceOnly(SourceFileLoader):
    def path_stats(self, path: str) -> dict[str, int]:
        raise OSError  # then Python neither looks for bytecode nor writes any


def only_sources(folder: str) -> None:
    """From now on, what is imported from this folder and those below is read from its sources."""
    if not _folders:
        sys.path_hooks.insert(0, _finder)
    _folders.add(os.path.realpath(folder))
    for known in [path for path in sys.path_importer_cache if _covered(path)]:
        del sys.path_importer_cache[known]


def _covered(path: str) -> bool:
    real = os.path.realpath(path)
    return any(real == folder or real.startswith(folder + "/") for folder in _folders)


def _finder(path: str) -> FileFinder:
    if not _covered(path):
        raise ImportError(path)
    return FileFinder(path, (_SourceOnly, SOURCE_SUFFIXES))
