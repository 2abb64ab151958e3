"""The commands about models: which there are, who is routed to which, whether they answer; connecting one and back.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.adapters.models import discovery, setup_state
from quintet.adapters.models.registry import Models
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.file import UserSettings
from quintet.adapters.settings.model_tables import remove_models
from quintet.app import model_dialogue, model_setup
from quintet.app.lookups import BUILTIN, chosen_models, model_row
from quintet.app.model_setup import WantedModel, try_model
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import NotFound, QuintetError, UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.models import presets
from quintet.domain.models.model_facts import resolved
from quintet.domain.models.presets import BY_NAME, CHAT, Preset
from quintet.domain.ports.ports import Model
from quintet.domain.settings.settings import Settings
from quintet.surfaces.tables import complain, say, say_json, say_table

WIRES = ("openai", "anthropic", "responses", "gemini", "pydantic-ai")
LONGEST_KEY = 10_000


def models_list(arguments: Namespace) -> int:
    settings = resolved(config.load(locate(arguments.directory)).settings)
    found = [{**row, "last_test": None} for row in _found(settings)]
    chosen = [
        {**row, "last_test": setup_state.last_test(row["name"], row["base_url"])} for row in chosen_models(settings)
    ]
    rows = [*chosen, *found]
    if arguments.json:
        say_json(rows)
        return 0
    heading = ("NAME", "SOURCE", "WIRE", "MODEL", "ROUTED BY", "KEY", "WINDOW", "PRICE", "LAST TEST", "ADDRESS")
    say_table([_cells(row) for row in rows], heading=heading)
    usable = [row for row in found if row["use"]]
    if usable and not settings.models:
        say(["", "No model is configured. To use what was found:"])
        say_table([(f"  {row['use']}", row["words"]) for row in usable])
    elif not settings.models:
        say(
            [
                "",
                (
                    f"No model is configured. Connect one with {discovery.ADD}; quintet models use --help lists "
                    "the presets."
                ),
            ]
        )
    return 0


def models_use(arguments: Namespace) -> int:
    places = locate(arguments.directory)  # first: from here on nothing of the project is run
    wanted = model_setup.WantedModel(presets.find(arguments.preset), arguments.model or "", **_given(arguments))
    if not arguments.json and sys.stdin is not None and sys.stdin.isatty():
        wanted = model_dialogue.with_key(wanted)
    tell = complain if arguments.json else model_dialogue.tell
    return _connected(arguments, asyncio.run(model_setup.connect(places, wanted, tell)))


def models_add(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    person = sys.stdin is not None and sys.stdin.isatty() and not arguments.json
    wanted = _custom(arguments) if arguments.base_url or arguments.preset or arguments.wire == "pydantic-ai" else None
    if wanted is None and not person:
        raise UsageError(
            "models add needs flags in a non-interactive run",
            hint="quintet models add NAME --base-url URL --model MODEL   or: quintet models add --preset PRESET",
        )
    if wanted is None or (person and not wanted.model):
        done = asyncio.run(model_dialogue.guided(places, wanted))
    else:
        done = asyncio.run(model_setup.connect(places, wanted, complain if arguments.json else model_dialogue.tell))
    return _connected(arguments, done)


def _custom(arguments: Namespace) -> Any:
    """A model that the flags describe, of a preset or of any server."""

    given = _given(arguments)
    if arguments.preset:
        preset = presets.find(arguments.preset)
    else:
        if not (arguments.name and arguments.model):
            raise UsageError("models add NAME --base-url URL --model MODEL: the name and the model are missing")
        lists = arguments.wire != "pydantic-ai"
        preset = Preset(arguments.name, arguments.name, arguments.wire or CHAT, key_needed=False, lists=lists, path="")
    if arguments.wire:
        preset = structs.replace(preset, wire=arguments.wire)
    routes = tuple(word for word in (arguments.route or "").split(",") if word)
    if unknown := [word for word in routes if word not in presets.MODEL_MODES]:
        raise UsageError(f"--route {unknown[0]}: fast, smart and deep are expected, with commas between")
    if not arguments.route:
        settings = config.load(locate(arguments.directory)).settings
        routes = presets.MODEL_MODES if settings.routing.smart == BUILTIN else ()
    return WantedModel(preset, arguments.model or "", arguments.name or "", routes=routes, **given)


def _given(arguments: Namespace) -> dict[str, Any]:
    """What the flags that `use` and `add` share say."""
    key = sys.stdin.read(LONGEST_KEY + 1).strip() if arguments.key_stdin and sys.stdin is not None else ""
    if arguments.key_stdin and (not key or len(key) > LONGEST_KEY or not key.isprintable()):
        raise UsageError("--key-stdin: pipe the key in, on one line", hint="quintet models use … --key-stdin < FILE")
    return {
        "base_url": arguments.base_url,
        "region": arguments.region,
        "resource": arguments.resource,
        "key": key,
        "key_env": arguments.key_env,
        "key_command": arguments.key_command,
        "key_place": arguments.where or "auto",
        "test": not arguments.no_test,
    }


def _connected(arguments: Namespace, done: Any) -> int:
    if arguments.json:
        say_json(done)
    else:
        say(done.lines)
    return 0


def models_remove(arguments: Namespace) -> int:

    places = locate(arguments.directory)
    before = config.load(places).settings
    unrouted = remove_models(UserSettings(places), arguments.names)
    left = config.load(places).settings
    keys = {before.models[name].api_key_env for name in arguments.names if name in before.models}
    kept = sorted({row.name for row in Vault(places, left).names() if row.source != "environment"} & keys)
    if arguments.json:
        say_json({"removed": arguments.names, "unrouted": unrouted, "settings": places.user_settings})
        return 0
    say([f"Removed {', '.join(arguments.names)} from {places.user_settings}."])
    say([f"{use} now goes to {left.routing.model(use)}." for use in unrouted])
    say([f"Its key stays in {name}; to delete a stored key: `quintet secrets remove {name}`." for name in kept])
    return 0


def models_test(arguments: Namespace) -> int:
    settings = config.load(locate(arguments.directory)).settings
    known = [*settings.models, BUILTIN]
    if arguments.name and arguments.name not in known:
        raise NotFound(f"there is no model {arguments.name}.{did_you_mean(arguments.name, known)}")
    names = [arguments.name] if arguments.name else list(settings.models) or [BUILTIN]
    results = asyncio.run(_tested(settings, names))
    addresses = {name: model.base_url for name, model in settings.models.items()}
    setup_state.keep_tests([one for one in results if one["name"] != BUILTIN], SystemClock().now(), addresses)
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
            "use": one.offer.command if one.wire else "",
            "words": one.offer.words if one.wire else "",
        }
        for one in found
        if one.base_url not in addresses
    ]


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    key = row["key"]
    said = f"{key['variable']} {'set' if key['set'] else 'NOT SET'}" if key else "-"
    routed = " ".join(row["routed"]) or "-"
    place = row["base_url"] or row["how"] or "-"
    window = f"{row['window'] // 1000}k" if row["window"] else "-"
    prices = row["prices"]
    price = f"{prices['input']:g}/{prices['output']:g}" if prices else "-"
    named = (row["name"], row["source"], row["wire"] or "-", row["model"] or "-", routed, said)
    return (*named, window, price, _last(row["last_test"]), place)


def _last(test: dict[str, Any] | None) -> str:
    if not test:
        return "-"
    at = str(test.get("at", ""))[:16].replace("T", " ")
    return f"{'ok' if test.get('ok') else test.get('code') or 'failed'} {at}"


async def _tested(settings: Settings, names: list[str]) -> list[dict[str, Any]]:
    models = Models(settings)
    made = [(name, _made(models, name)) for name in names]  # first: a provider's packages take seconds to be imported
    try:
        return await asyncio.gather(*(_test(model, name) for name, model in made))
    finally:
        await models.close()


def _made(models: Models, name: str) -> Model | QuintetError:
    try:
        return models.get(name)
    except QuintetError as error:
        return error


async def _test(model: Model | QuintetError, name: str) -> dict[str, Any]:
    if not isinstance(model, QuintetError):
        result, _ = await try_model(model, name)
        return result
    failed = {"name": name, "ok": False, "code": model.code, "error": model.message, "hint": model.hint}
    return {**failed, "seconds": 0.0, "input_tokens": 0, "output_tokens": 0}


def _verdict(result: dict[str, Any]) -> tuple[str, ...]:
    tokens = f"{result['input_tokens']}+{result['output_tokens']}" if result["ok"] else "-"
    said = "; ".join(words for words in (result["error"], result["hint"]) if words)
    return (result["name"], result["code"] or "ok", f"{result['seconds']:.2f} s", tokens, said)


def _use_flags(parser: ArgumentParser) -> None:

    parser.add_argument("preset", metavar="PRESET", help=", ".join(BY_NAME))
    parser.add_argument(
        "model",
        nargs="?",
        default="",
        metavar="MODEL",
        help="the model for all model modes; default: the one that Quintet suggests",
    )
    _shared_flags(parser)


def _add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="your name for the model")
    parser.add_argument("--preset", default="", metavar="PRESET", help="a provider from the presets")
    parser.add_argument("--model", default="", metavar="MODEL", help="the model's name at the provider")
    parser.add_argument("--wire", default="", choices=("", *WIRES), metavar="WIRE", help=", ".join(WIRES))
    parser.add_argument(
        "--route", default="", metavar="USES", help="fast,smart,deep; default: all three, if no model is routed"
    )
    _shared_flags(parser)


def _shared_flags(parser: ArgumentParser) -> None:
    parser.add_argument("--base-url", default="", metavar="URL", help="the address, if it is not the default")
    parser.add_argument("--region", default="", metavar="R", help="for bedrock")
    parser.add_argument("--resource", default="", metavar="NAME", help="for azure")
    key = parser.add_argument_group("key (default: from its usual variable, or your secrets)")
    key.add_argument("--key-env", default="", metavar="NAME", help="the variable that contains the key")
    key.add_argument(
        "--key-command", default="", metavar="CMD", help="a program that prints the key, with its arguments"
    )
    key.add_argument("--key-stdin", action="store_true", help="read the key from stdin and store it with your secrets")
    place = key.add_mutually_exclusive_group()
    place.add_argument("--keyring", action="store_const", const="keyring", dest="where", help="store it only there")
    place.add_argument(
        "--file", action="store_const", const="file", dest="where", help="store it in a file with mode 0600"
    )
    parser.add_argument("--no-test", action="store_true", help="write it without a test request")


MODELS = actions(
    "models",
    {
        "list": lookup(
            "models list", "Models: the ones you configured, the offline rules, and what was found here.", models_list
        ),
        "use": lookup(
            "models use",
            ("Connect a provider, test it, and route fast, smart and deep to it. Asks only for what it cannot find."),
            models_use,
            _use_flags,
        ),
        "add": lookup(
            "models add",
            "Add a model: with questions at a terminal, or with flags.",
            models_add,
            _add_flags,
        ),
        "remove": lookup(
            "models remove",
            "Remove models, and the routes to them, from your settings.",
            models_remove,
            lambda p: p.add_argument("names", nargs="+", metavar="NAME", help="its name in your settings"),
        ),
        "test": lookup(
            "models test",
            "Send one small request to each configured model, or to one; exit code 1 if one fails.",
            models_test,
            lambda p: p.add_argument("name", nargs="?", default="", help="its name in your settings"),
        ),
    },
)
