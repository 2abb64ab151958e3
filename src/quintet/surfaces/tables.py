"""Aligned tables and JSON on stdout, for the commands that look something up."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.safe_text import visible
from quintet.domain.base.text_table import table

__all__ = ["room", "say", "say_json", "say_table", "table"]


def say(lines: Iterable[str]) -> None:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.stdout.write("".join(f"{visible(line)}\n" for line in lines))


def complain(text: str) -> None:
    """To standard error; what others wrote cannot steer the terminal."""
    sys.stderr.write(f"{visible(text)}\n")


def say_table(rows: Sequence[Sequence[str]], *, heading: Sequence[str] = (), right: Collection[int] = ()) -> None:
    say(table(rows, heading=heading, right=right, room=room()))


def room() -> int:
    """The cells of a line where a person reads it; 0 where a program does, which gets each row on one line."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal, or no file at all
        return 0


def failure(error: Exception, session: str | None = None) -> dict[str, Any]:
    """What failed, in a session or before there was one, as the result of a headless run."""
    code = error.exit_code if isinstance(error, QuintetError) else 1
    said = error.message if isinstance(error, QuintetError) else f"{type(error).__name__}: {error}"
    named = error.code if isinstance(error, QuintetError) else "SYSTEM" if isinstance(error, OSError) else "INTERNAL"
    told = {"code": named, "message": said, "hint": getattr(error, "hint", "")}
    return {"type": "result", "status": "failed", "answer": "", "error": told, "session": session, "exit_code": code}


def say_failure(error: Exception) -> int:
    """What failed before there was a session; returns the exit code."""
    result = failure(error)
    sys.stdout.write(json.dumps(result, ensure_ascii=False) + "\n")
    return int(result["exit_code"])


def say_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n")
