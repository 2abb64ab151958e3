"""Quintet's entries for a harness that runs command-line agents side by side (its `--contestants FILE`).

`quintet-chat` is one turn at the defaults of a script; `quintet` does steps in build | autonomous | trusted with
reasoning and review off; `quintet-full` is the same with both on. The bare loops are the floor of what a Python agent
with a sandbox and a durable journal can reach. Journal, gate, checkpoints and sandbox are on in all of Quintet's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contestants import Contestant  # type: ignore[import-not-found]  # of the harness, which runs this file

FLOOR = str(Path(__file__).with_name("bare_loop.py"))
BUILD = ("--mode", "build", "--autonomous", "--permission-profile", "trusted")


def config(context: Any) -> None:
    table = f'[models.stub]\nbase_url = "{context.url}/v1"\nmodel = "stub"\n[routing]\nsmart = "stub"\n'
    table += "[compression]\nmax_messages = 0\nmax_tokens = 0\n[limits]\nmax_turns = 0\nmax_calls = 0\n"
    context.write(".config/quintet/settings.toml", table)


def entry(name: str, *flags: str, full: bool = False, tools: bool = True) -> Contestant:
    def argv(context: Any) -> list[str]:
        return ["-p", context.prompt, "--output-format", "stream-json", *flags]

    settings = {"QUINTET_RUNS_QA_REVIEW": str(full).lower()}
    if full:  # a stub that calls tools in the warm-up too is not to lose its way in the menu
        settings["QUINTET_TOOLS_PRESENTATION"] = "flat"
    return Contestant(name, "quintet", argv, config=config, env=lambda _: settings, tools=tools)


def bare(name: str, kind: str) -> Contestant:
    return Contestant(name, name, lambda context: [FLOOR, kind, context.url], version=["-c", "pass"], floor=True)


EXTRA = [
    bare("bare-bwrap", "each"),
    bare("bare-kept", "kept"),
    entry("quintet-chat", tools=False),
    entry("quintet", *BUILD),
    entry("quintet-full", *BUILD, "--reasoning", full=True),
]
