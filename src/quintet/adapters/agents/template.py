"""The example that `quintet agents new NAME` writes: an agent with a persona, a menu, a prompt and a workflow."""

from __future__ import annotations

import os
import re

from quintet.domain.base.errors import StoreUnwritable, UsageError
from quintet.package import FOLDER

TEMPLATE = os.path.join(FOLDER, "agent_template")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def write_example(name: str, folder: str) -> str:
    """Write the example as `folder/name`; the path of its file."""
    if not _NAME.fullmatch(name) or len(name) > 64:
        raise UsageError(f'agents new "{name}": a name is small letters and digits, joined by hyphens')
    target = os.path.join(folder, name)
    if os.path.lexists(target):
        raise UsageError(f"{target}: there is something of that name already; nothing was written")
    try:
        for place, _, files in os.walk(TEMPLATE):
            into = os.path.normpath(os.path.join(target, os.path.relpath(place, TEMPLATE)))
            os.makedirs(into)
            for file in sorted(files):
                with open(os.path.join(place, file), encoding="utf-8") as source:
                    text = source.read()
                with open(os.path.join(into, file.replace("NAME", name)), "x", encoding="utf-8") as written:
                    written.write(text.replace("NAME", name))
    except OSError as error:
        raise StoreUnwritable(f"{error.filename or target}: cannot be written ({error.strerror})") from error
    return os.path.join(target, f"{name}.agent.yaml")
