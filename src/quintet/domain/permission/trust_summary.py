"""What the things that a project brings would do once it is trusted, in plain words: a line each, the gravest first.

A setting that only changes looks or counts is named in one last line together with its like. One that is
not in the tables here has a line of its own, so that it is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from quintet.domain.base.safe_text import brief
from quintet.domain.permission.trusted_content import ProjectSetting

AS_YOU = "as you, outside the sandbox"
MOST_HOOK = 40  # letters of a command, so that what follows it is seen on one line


class WantedServer(Struct, frozen=True):
    """An MCP server: what it starts or reaches, and which variables of the user's it names."""

    name: str
    command: str = ""
    url: str = ""
    network: bool = False
    gets: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()  # may be secrets, and the user's own settings do not name them for this server


_WHEN = {
    "session_start": "when a session opens",
    "user_prompt_submit": "before each turn",
    "pre_tool_use": "before each call of a tool",
    "post_tool_use": "after each call of a tool",
    "pre_compact": "before a conversation is compacted",
    "stop": "at the end of each turn",
    "permission_request": "before each question to you",
}
_SANDBOX = {
    "none": "turns the sandbox off: approved commands can do everything that you can do",
    "partial": "uses the partial sandbox, which restricts less than bubblewrap",
}
Words = Callable[[Any], str]

# By key, the gravest first.
_WORDS: dict[str, Words] = {
    "sandbox.use": lambda use: _SANDBOX.get(use, f"uses the sandbox {use}"),
    "dials.permission_profile": lambda profile: f"opens sessions in profile {profile}: more calls run without approval",
    "dials.run_control": lambda control: f"opens sessions with run control {control}",
    "dials.work_mode": lambda work_mode: f"opens sessions in work mode {work_mode}",
    "routing.smart": lambda model: f"uses model {model} for smart",
    "routing.fast": lambda model: f"uses model {model or 'from smart'} for fast",
    "routing.deep": lambda model: f"uses model {model or 'from smart'} for deep",
    "routing.vision": lambda model: f"uses model {model or 'from smart'} for images",
    "library.embeddings": lambda model: f"sends the documents of your library to model {model}",
    "secrets.expose": lambda listed: f"exposes secrets to commands: {_joined(listed)}",
    "secrets.patterns": lambda listed: f"treats only variables with these names as secrets: {_joined(listed)}",
    "secrets.ignore": lambda listed: f"does not treat variables with these names as secrets: {_joined(listed)}",
    "secrets.files": lambda listed: f"looks for secrets only in {_joined(listed) or 'no file'}",
    "protect.not_secrets": lambda listed: f"allows reading files that look like secrets: {_joined(listed)}",
    "protect.specs": lambda listed: f"allows work mode plan to write {_joined(listed)}",
    "protect.reports": lambda listed: f"allows work modes review and research to write {_joined(listed)}",
    "sandbox.loopback": lambda state: f"sets this machine's own ports to {state} for commands with network access",
    "web.allow_hosts": lambda hosts: f"allows reading pages from your own network: {_joined(hosts)}",
    "web.search": lambda name: f"sends web searches to {name}",
    "web.brave_url": lambda url: f"sends web searches and your Brave key to {url}",
    "web.brave_key_env": lambda name: f"sends your {name} to the Brave address, as its key",
    "web.exa_url": lambda url: f"sends web searches and your Exa key to {url}",
    "web.exa_key_env": lambda name: f"sends your {name} to the Exa address, as its key",
    "web.searxng_url": lambda url: f"sends web searches to {url}",
    "forge.url": lambda url: f"sends your forge token to {url}",
    "forge.token_env": lambda name: f"sends your {name} to the forge, as its token",
    "observability.otel": lambda on: f"{'sends' if on else 'does not send'} session activity to your OpenTelemetry",
    "observability.otel_content": lambda on: (
        f"{'sends' if on else 'does not send'} the text of conversations there, too"
    ),
    "browser.path": lambda path: f"starts {path or 'the first Chromium on PATH'} as the browser",
    "browser.sandbox": lambda on: f"turns the browser's own sandbox {_switched(on)}",
    "cycle.planner": lambda who: f"uses {who} to make plans",
    "cycle.executor": lambda who: f"uses {who} to do tasks",
    "cycle.verifier": lambda who: f"uses {who or 'the planner'} to verify work",
    "checkpoints.enabled": lambda on: f"turns checkpoints {_switched(on)}: /rewind cannot restore files",
    "repair.auto_transition": lambda how: f"switches to work mode repair: {how}",
    "runs.delivery_check": lambda on: f"turns the check at the end of a turn {_switched(on)}",
    "runs.qa_review": lambda on: f"turns the review of changes {_switched(on)}",
}
_QUIET = ("display.", "prompt.", "keys.", "compression.", "tools.", "doctor.", "retry.")
_QUIET_KEYS = frozenset(
    [
        "dials.model_mode",
        "dials.abort_active_tool",
        "runs.reasoning",
        "runs.qa_feedback",
        "runs.qa_modes",
        "runs.record",
        "runs.keep_recordings",
        "checkpoints.keep",
        "cycle.from_input",
        "forge.poll_seconds",
    ]
)
_BEFORE_MODELS = ("sandbox.use", "dials.")
_NAMED = ("models", "executors", "mcp.servers", "deploy")
_MODEL_ALOUD = ("base_url", "model", "api_key_env", "wire")  # said in words of their own


def settings_lines(changed: Iterable[ProjectSetting], unchecked: Collection[str] = ()) -> list[str]:
    """What settings of a project would do. `unchecked` are hooks that run files whose changes would not be noticed."""
    changed = list(changed)
    tables = _tables(changed)
    single = {one.key: one for one in changed if not _named(one.key)}
    spoken = [key for key in _WORDS if key in single]
    lines = [_WORDS[key](single[key].value) for key in spoken if key.startswith(_BEFORE_MODELS)]
    lines += _each(tables, "models", _model)
    lines += [_WORDS[key](single[key].value) for key in spoken if not key.startswith(_BEFORE_MODELS)]
    lines += [line for key, one in single.items() if key.startswith("hooks.") for line in _hooks(one, unchecked)]
    lines += _each(tables, "executors", _executor) + _each(tables, "deploy", _deployment)
    rest = [one for key, one in single.items() if key not in _WORDS and not key.startswith("hooks.")]
    quiet = [one for one in rest if one.key.startswith(_QUIET) or one.key in _QUIET_KEYS]
    lines += [f"sets {one.key} to {_joined(one.value)}: {one.about}" for one in rest if one not in quiet]
    if quiet:
        lines.append(f"also sets {', '.join(f'{one.key} = {_joined(one.value)}' for one in quiet)}")
    return lines


def server_line(server: WantedServer) -> str:
    """What an MCP server of a project would start or reach, and get."""
    what = f"reaches {server.url}" if server.url else f"starts `{server.command}` in the sandbox"
    network = ", with network access" if server.network and not server.url else ""
    gets = f", gets your {', '.join(server.gets)}" if server.gets else ""
    refused = ", ".join(server.refused)
    asks = f", requests your {refused}: not given, unless your own [mcp] variables allow it" if refused else ""
    return f"MCP server {server.name} {what}{network}{gets}{asks}"


def file_lines(
    tools: Sequence[str], prompts: Sequence[str], agents: Sequence[str], skills: Sequence[str] = ()
) -> list[str]:
    """What files that are loaded would do, a line for each kind."""
    kinds = (
        (tools, f"loads tools that run {AS_YOU}"),
        (prompts, "replaces Quintet's prompts with its own"),
        (agents, f"allows programs of its agents to run {AS_YOU}, when you use one"),
        (skills, "offers skills to you and to models"),
    )
    return [f"{does}: {', '.join(names)}" for names, does in kinds if names]


def _joined(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _switched(on: bool) -> str:
    return "on" if on else "off"


def _named(key: str) -> str:
    """The table of things with names that a key belongs to; empty if to none."""
    return next((table for table in _NAMED if key.startswith(f"{table}.")), "")


def _tables(changed: Iterable[ProjectSetting]) -> dict[str, dict[str, dict[str, Any]]]:
    """table → name → what is set there."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for one in changed:
        if table := _named(one.key):
            name, _, field = one.key.removeprefix(f"{table}.").rpartition(".")
            found.setdefault(table, {}).setdefault(name, {})[field] = one.value
    return found


def _each(tables: Mapping[str, Mapping[str, Any]], table: str, words: Callable[[str, Any], str]) -> list[str]:
    return [words(name, given) for name, given in tables.get(table, {}).items()]


def _model(name: str, given: Mapping[str, Any]) -> str:
    where = given.get("base_url") or given.get("model", "")
    does = [f"sends your prompts to {where}"] if where else []
    if key := given.get("api_key_env"):
        does.append(f"{'with' if does else 'sends'} your {key} as the key")
    if given.get("wire"):
        does.append(f"uses the {given['wire']} API")
    does += [f"{field} = {value}" for field, value in given.items() if field not in _MODEL_ALOUD and not where]
    return f"model {name}: {', '.join(does) or 'no change'}"


def _executor(name: str, given: Mapping[str, Any]) -> str:
    does = [f"starts `{given['command']}`"] if given.get("command") else []
    does += [f"has its settings in {given['home']}"] if given.get("home") else []
    does += [f"sees {_joined(given['folders'])}"] if given.get("folders") else []
    does += [f"gets your {_joined(given['pass_env'])}"] if given.get("pass_env") else []
    does += [f"uses model {given['model']}"] if given.get("model") else []
    return f"AI CLI {name}: {', '.join(does) or 'no change'}"


def _deployment(name: str, given: Mapping[str, Any]) -> str:
    does = [f"{field} runs `{given[field]}`" for field in ("frontend", "backend", "logs", "expose") if given.get(field)]
    does += ["does not ask before each deployment"] if given.get("production") is False else []
    return f"deployment to {name}: {', '.join(does) or 'no change'}"


def _hooks(one: ProjectSetting, unchecked: Collection[str]) -> list[str]:
    when = _WHEN.get(one.key.removeprefix("hooks."), one.key)
    later = "; the project files that it runs may change later without approval"
    return [
        f"runs `{brief(text, MOST_HOOK)}` {AS_YOU}, {when}{later if text in unchecked else ''}{_whole(text)}"
        for text in one.value
    ]


def _whole(command: str) -> str:
    return "" if brief(command, MOST_HOOK) == command else f": `{command}`"


def servers_set(changed: Iterable[ProjectSetting]) -> dict[str, dict[str, Any]]:
    """The MCP servers that settings name, in whole or in part: name → what is set there."""
    return _tables(changed).get("mcp.servers", {})
