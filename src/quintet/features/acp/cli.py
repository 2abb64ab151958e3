"""`quintet acp`: what an editor starts to speak the Agent Client Protocol with."""

from __future__ import annotations

import asyncio

from quintet.cli.parsing import dial_flags, make_parser, turned
from quintet.domain.base.errors import UsageError

INSTALL = "quintet install acp"


def acp(arguments: list[str]) -> int:
    parser = make_parser(
        "acp",
        "Sessions in your editor: an agent of the Agent Client Protocol on stdin and stdout. Your editor starts it.",
    )
    dial_flags(parser)
    parsed = parser.parse_args(arguments)
    try:
        from quintet.features.acp.serving import serve  # needs what the extra brings
    except ModuleNotFoundError as error:
        raise UsageError(
            f"`quintet acp` needs {error.name}, which is not installed", hint=f"Install it: {INSTALL}"
        ) from None
    return asyncio.run(serve(parsed.directory, turned(parsed)))
