"""Aligned tables and JSON on stdout, for the commands that look something up."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from quintet.domain.columns import table
from quintet.domain.visible import visible

__all__ = ["say", "say_json", "table"]


def say(lines: Iterable[str]) -> None:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.stdout.write("".join(f"{visible(line)}\n" for line in lines))


def say_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n")
