"""`quintet update`: how this installation is updated. It prints the commands, and neither runs nor asks anything."""

from __future__ import annotations

import os
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import unquote, urlsplit

import msgspec

from quintet import __version__
from quintet.cli.parsing import lookup
from quintet.package import FOLDER, INSTALLED
from quintet.surfaces.tables import say, say_json

SINGLE_FILE = "single-file"  # in the folder that the single-file program unpacks itself to: where it lies
DEBIAN = "/usr/lib/quintet"
AFTER = "Close open sessions first. State of earlier versions is read; `quintet doctor` checks it."


class Installation(msgspec.Struct, frozen=True):
    version: str
    kind: str  # source, pipx, uv, single-file, debian or pip
    where: str
    commands: list[str]


def installation(
    folder: str, prefix: str, *, installed: bool, came_from: str, single_file: str, parts: tuple[str, ...] = ()
) -> Installation:
    """How Quintet came here, and what brings a newer one; `came_from`: the folder it was installed from, if known.

    `parts`: the optional parts that are installed. pipx and uv make the environment anew, so they are named there.
    """
    named = came_from or "PATH/TO/quintet"
    at = shlex.quote(named)
    whole = shlex.quote(f"{named}[{','.join(parts)}]") if parts else at
    fetch = [f"git -C {at} pull"]
    if single_file:
        return Installation(__version__, "single-file", single_file, [f"cp quintet-NEW {shlex.quote(single_file)}"])
    if prefix == DEBIAN:
        return Installation(__version__, "debian", prefix, ["sudo apt install ./quintet_NEW_amd64.deb"])
    if not installed:
        root = os.path.dirname(os.path.dirname(folder))
        quoted = shlex.quote(root)
        return Installation(__version__, "source", root, [f"git -C {quoted} pull", f"{quoted}/scripts/run --version"])
    folders = prefix.split(os.sep)
    if "pipx" in folders:
        return Installation(__version__, "pipx", prefix, [*fetch, f"pipx install --force {whole}"])
    if "uv" in folders and "tools" in folders:
        return Installation(__version__, "uv", prefix, [*fetch, f"uv tool install --force {whole}"])
    python = shlex.quote(os.path.join(prefix, "bin", "python"))
    return Installation(__version__, "pip", prefix, [*fetch, f"{python} -m pip install --upgrade {at}"])


def _came_from() -> str:
    """The folder that an installer took Quintet from, as it wrote down."""
    noted = distribution("quintet").read_text("direct_url.json")
    address = urlsplit(msgspec.json.decode(noted).get("url", "") if noted else "")
    return unquote(address.path) if address.scheme == "file" and os.path.isdir(unquote(address.path)) else ""


def _parts() -> Iterator[str]:
    """The optional parts whose packages are all installed."""
    wanted: dict[str, list[str]] = {}
    for line in distribution("quintet").requires or ():
        if found := re.match(r"([\w.-]+).*;.*extra == ['\"]([\w-]+)", line):
            wanted.setdefault(found[2], []).append(found[1])
    for part, packages in sorted(wanted.items()):
        if "quintet" not in packages and all(map(_is_installed, packages)):
            yield part


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def _single_file() -> str:
    try:
        with open(os.path.join(sys.prefix, SINGLE_FILE), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def update(arguments: Namespace) -> int:
    from_file = _single_file()
    found = installation(
        FOLDER,
        sys.prefix,
        installed=INSTALLED,
        came_from=_came_from() if INSTALLED and not from_file else "",
        single_file=from_file,
        parts=tuple(_parts()) if INSTALLED and not from_file else (),
    )
    if arguments.json:
        say_json(found)
        return 0
    first, *more = found.commands
    say([f"quintet {found.version}, {found.kind}: {found.where}", f"update   {first}"])
    say([*(f"         {line}" for line in more), f"then     {AFTER}"])
    return 0


UPDATE = lookup("update", "Show how to update this installation. Nothing is downloaded or changed.", update)
