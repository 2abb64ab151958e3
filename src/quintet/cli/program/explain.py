"""`quintet explain [CODE]`: the cause and the cure of an error, a notice or a finding of the doctor."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from quintet.app.health.checks import every_kind
from quintet.cli.parsing import lookup
from quintet.domain.base.errors import UsageError
from quintet.domain.base.remedies import Remedy, remedies
from quintet.domain.base.wording import did_you_mean
from quintet.package import FOLDER
from quintet.surfaces.tables import say, say_json, say_table

PAGE = os.path.join(FOLDER, "pages", "troubleshooting.md")


def known() -> dict[str, Remedy]:
    """Errors and notices as their page has them, then what the doctor finds, as its checks declare it."""
    with open(PAGE, encoding="utf-8") as file:
        found = remedies(file.read())
    for kind in sorted(every_kind(), key=lambda kind: kind.code):
        cure = f"`quintet doctor fix`: {kind.cure}" if kind.fixable else kind.cure
        found.setdefault(kind.code, Remedy(kind.code, "The doctor", kind.cause, cure))
    return found


def explain(arguments: Namespace) -> int:
    found = known()
    if not arguments.code:
        if arguments.json:
            say_json(list(found.values()))
        else:
            say_table([(one.code, one.about, one.cause) for one in found.values()], heading=("CODE", "ABOUT", "CAUSE"))
        return 0
    wanted = arguments.code.upper()
    if wanted not in found:
        raise UsageError(
            f"{arguments.code} is not a code of Quintet's.{did_you_mean(wanted, found)}",
            hint="`quintet explain` lists the codes.",
        )
    one = found[wanted]
    if arguments.json:
        say_json(one)
    else:
        say([one.code, f"cause    {one.cause}", f"do       {one.cure}"])
    return 0


def _code(parser: ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", default="", metavar="CODE", help="as in LLM_TIMEOUT; none: list them")


EXPLAIN = lookup("explain", "Explain a code: its cause, and what to do.", explain, _code)
