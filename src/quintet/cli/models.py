"""The commands that look at models: which there are, who is routed to which, and whether they answer.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from quintet.adapters.files.paths import locate
from quintet.adapters.models import discovery
from quintet.adapters.settings import layers as config
from quintet.app.lookups import BUILTIN, chosen_models, model_row
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import NotFound, QuintetError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.settings.settings import Settings
from quintet.surfaces.tables import say, say_json, say_table

QUESTION = "Answer with the single word: ok"


def models_list(arguments: Namespace) -> int:
    settings = config.load(locate(arguments.directory)).settings
    rows = [*chosen_models(settings), *_found(settings)]
    if arguments.json:
        say_json(rows)
        return 0
    heading = ("NAME", "SOURCE", "WIRE", "MODEL", "ROUTED BY", "KEY", "ADDRESS")
    say_table([_cells(row) for row in rows], heading=heading)
    if not settings.models:
        say(["", "No model is configured. `quintet settings` names the file for [models.NAME] and [routing]."])
    return 0


def models_test(arguments: Namespace) -> int:
    import asyncio

    settings = config.load(locate(arguments.directory)).settings
    known = [*settings.models, BUILTIN]
    if arguments.name and arguments.name not in known:
        raise NotFound(f"there is no model {arguments.name}.{did_you_mean(arguments.name, known)}")
    names = [arguments.name] if arguments.name else list(settings.models) or [BUILTIN]
    results = asyncio.run(_tested(settings, names))
    if arguments.json:
        say_json(results)
    else:
        rows = [_verdict(result) for result in results]
        say_table(rows, heading=("NAME", "ANSWER", "TIME", "TOKENS", ""))
    return 0 if all(result["ok"] for result in results) else 1


def _found(settings: Settings) -> list[dict[str, Any]]:
    """What is on this machine and not configured yet."""
    addresses = {model.base_url.rstrip("/") for model in settings.models.values()}
    found = [*discovery.keys(), *discovery.servers(), *discovery.clis()]
    return [
        {
            **model_row(settings, one.name, "found", " ".join(one.models), one.wire, one.base_url, one.api_key_env),
            "routed": [],  # a configured model may have the same name
            "how": one.how,
        }
        for one in found
        if one.base_url not in addresses
    ]


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    key = row["key"]
    said = f"{key['variable']} {'set' if key['set'] else 'NOT SET'}" if key else "-"
    routed = " ".join(row["routed"]) or "-"
    place = row["base_url"] or row["how"] or "-"
    return (row["name"], row["source"], row["wire"] or "-", row["model"] or "-", routed, said, place)


async def _tested(settings: Settings, names: list[str]) -> list[dict[str, Any]]:
    import asyncio

    from quintet.adapters.models.registry import Models

    models = Models(settings)
    try:
        return await asyncio.gather(*(_test(models, name) for name in names))
    finally:
        await models.close()


async def _test(models: Any, name: str) -> dict[str, Any]:
    from time import monotonic

    from quintet.domain.turn.messages import EndPart, Message, Request, Role, Usage

    began = monotonic()
    usage = Usage()
    answer: dict[str, Any] = {"name": name, "ok": True, "code": "", "error": "", "hint": ""}
    try:
        model = models.get(name)
        async for part in model.stream(Request(model.name, (Message(Role.USER, QUESTION),))):
            usage = part.usage if isinstance(part, EndPart) else usage
    except QuintetError as error:
        answer |= {"ok": False, "code": error.code, "error": error.message, "hint": error.hint}
    seconds = round(monotonic() - began, 3)
    return {**answer, "seconds": seconds, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}


def _verdict(result: dict[str, Any]) -> tuple[str, ...]:
    tokens = f"{result['input_tokens']}+{result['output_tokens']}" if result["ok"] else "-"
    said = "; ".join(words for words in (result["error"], result["hint"]) if words)
    return (result["name"], result["code"] or "ok", f"{result['seconds']:.2f} s", tokens, said)


MODELS = actions(
    "models",
    {
        "list": lookup("models list", "Models: those you configured, the offline rules, what is here.", models_list),
        "test": lookup(
            "models test",
            "One tiny request to each configured model, or to one; exit code 1 if any fails.",
            models_test,
            lambda p: p.add_argument("name", nargs="?", default="", help="its name in your settings"),
        ),
    },
)
