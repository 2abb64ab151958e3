"""What the tools cost a request: bytes and number of the schemas sent at ROOT, in each toolset, flat and by search.

python bench/schemas.py [--permission-profile PROFILE] [--json]. The bytes are those of `tools` in the body of a
chat-completions request, as it goes over the wire; the share is of what `flat` sends.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from typing import Any

import msgspec
from _table import say, table

from quintet.adapters.files.paths import locate
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.settings import layers as config
from quintet.app.open import make_core
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import Message, Request, Role
from quintet.domain.turn.stage_policy import CallContext
from quintet.domain.turn.tool_menu import TOOL_MODES, Presentation

WIRE = ChatCompletions(ModelSettings(base_url="http://127.0.0.1:1/v1", model="m"), "", "m")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    profiles = [str(profile) for profile in PermissionProfile]
    parser.add_argument("--permission-profile", choices=profiles, default="trusted", help="(trusted)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile(wanted.permission_profile))
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = folder
        there = {name: name for name, toolset in TOOL_MODES.items() if BY_NAME.keys() & set(toolset.tool_list)}
        figures = asyncio.run(_sent(folder, Presentation.MENU, axes, {"": "ROOT", **there}))
        figures += asyncio.run(_sent(folder, Presentation.SEARCH, axes, {"": "search, at ROOT"}))
        figures += asyncio.run(_sent(folder, Presentation.FLAT, axes, {"": "flat"}))
    flat = figures[-1]
    for figure in figures:
        figure["of_flat"] = round(figure["bytes"] / flat["bytes"], 3)
    rows = [(f["sent"], str(f["tools"]), str(f["bytes"]), f"{f['of_flat']:.0%}") for f in figures]
    text = table(["sent", "tools", "bytes", "of flat"], rows)
    about = {"permission_profile": wanted.permission_profile, "wire": "chat completions", "schemas": figures}
    say(f"{text}\n\nprofile {wanted.permission_profile}; `tools` of a chat-completions request", about, wanted.json)
    return 0


async def _sent(folder: str, presentation: Presentation, axes: Axes, places: dict[str, str]) -> list[dict[str, Any]]:
    """Tools and bytes at each of these places in the menu."""
    project = locate(folder)
    core = make_core(project, config.load(project, {"tools.presentation": str(presentation)}))
    figures = []
    for toolset, name in places.items():
        tools = core.turn.toolbox.schemas(core.turn.toolbox.plan(CallContext(axes, toolset)).tools)
        body = WIRE._body(Request("m", (Message(Role.USER, "x"),), tools))
        figures.append({"sent": name, "tools": len(tools), "bytes": len(msgspec.json.encode(body["tools"]))})
    await core.store.close()
    return figures


if __name__ == "__main__":
    sys.exit(main())
