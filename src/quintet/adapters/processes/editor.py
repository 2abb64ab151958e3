"""A text edited in the user's own editor at this terminal: $VISUAL, $EDITOR, or the first common one there is."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from quintet.adapters.files.private_files import private
from quintet.adapters.files.temporary_folders import temporary
from quintet.adapters.processes.host_programs import program
from quintet.domain.base.errors import UsageError

COMMON = ("editor", "nano", "vim", "vi")


def edited(text: str) -> str:
    """The text as the editor left it. UsageError if there is no editor, or it failed."""
    command = _command()
    with temporary() as folder:
        path = os.path.join(folder, "prompt.md")
        with open(path, "x", encoding="utf-8", errors="surrogateescape", newline="", opener=private) as file:
            file.write(text)
        try:
            exit_code = subprocess.run([*command, path], check=False).returncode
            if exit_code:
                raise UsageError(f"{command[0]} exited {exit_code}: the prompt is unchanged")
            return Path(path).read_text(encoding="utf-8", errors="replace").removesuffix("\n")
        except OSError as error:
            raise UsageError(f"{command[0]}: {error.strerror}") from error


def _command() -> list[str]:
    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(os.environ.get(variable, ""))
        except ValueError as error:
            raise UsageError(f"${variable}: {error}") from error
        if words:
            if not (found := program(words[0])):
                raise UsageError(f"${variable}: {words[0]} not found")
            return [found, *words[1:]]
    found = next(filter(None, map(program, COMMON)), "")
    if not found:
        raise UsageError("no editor found: set $VISUAL or $EDITOR")
    return [found]
