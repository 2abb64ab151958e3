"""Whether a model finds the right tool, by the menu, flat and by search: how often, in how many requests and bytes.

python bench/presentations.py [--model NAME]… [--weights NAME=URL]… [--json]. Each of the requests below has one or more
right tools. A model is shown what Quintet shows it at that place, and what it calls is carried out on the menu; it is
over with the first call that is no step in the menu, or after eight requests. `knows` always chooses right, which
shows what the way costs; `words` chooses by the words that a request has in common with names and descriptions. A
`--model` is one of your models, asked as ever. `--weights` are those of any model behind a llama.cpp server, tools or
not: it gets names and first sentences, two examples, and can only write what may be chosen there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from http.client import HTTPConnection
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
from _table import say, table
from msgspec import Struct

from quintet.adapters.files.paths import locate
from quintet.adapters.models.chat_completions import ChatCompletions
from quintet.adapters.models.registry import Models
from quintet.adapters.settings import layers as config
from quintet.app.open import make_core
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import SMALL_WORDS
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.evals.rates import wilson
from quintet.domain.ports.ports import Model
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn.messages import CallPart, Message, Request, Role, ToolCall, ToolSchema
from quintet.domain.turn.stage_policy import CallContext, within_reach
from quintet.domain.turn.tool_menu import REQUEST_TOOLS, MenuManager, Presentation, ToolMode, with_own

AXES = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
CONTEXT = CallContext(AXES, "")
WIRE = ChatCompletions(ModelSettings(base_url="http://127.0.0.1:1/v1", model="m"), "", "m")
MOST_REQUESTS = 8
ASKING_SECONDS = 7200
MOST_ABOUT = 48  # characters of a description, for weights
STEPS = ("menu_list", "menu_enter", "menu_exit", REQUEST_TOOLS, "think")  # more calls may follow
NO_TOOLS = ("menu_list", "menu_exit", "think", "complete", "message_user")
SYSTEM = "Call the one tool that does what is asked. Where it is not in view, find it in the tool menu."
EXAMPLES = (("Tell me how large logo.png is.", "fs_file_info"), ("Which branches are there?", "git_branch_list"))
WANTED: tuple[tuple[str, str], ...] = (
    ("What is in src/app.py?", "Read fs_read_file bash"),
    ("Put the text hello into a new file notes.txt.", "Write fs_write_file bash"),
    ("In app.py, replace the word colour by color.", "Edit bash"),
    ("Run the tests with pytest.", "bash"),
    ("Where in the code does the word TODO stand?", "grep bash search_code"),
    ("Which files end in .yaml?", "glob bash"),
    ("What have I changed but not committed yet?", "git_status git_diff_unstaged bash"),
    ("Show the lines that I changed and did not stage.", "git_diff_unstaged bash"),
    ("Show what would go into the next commit.", "git_diff_staged bash"),
    ("Commit what is staged with the message fix typo.", "git_commit bash"),
    ("Stage README.md.", "git_add bash"),
    ("What did the server in the background print since then?", "bash_output"),
    ("End the server that runs in the background.", "kill_shell"),
    ("Type y into the shell that waits in the background.", "write_to_shell"),
    ("Look on the internet for news about Python 3.15.", "web_search"),
    ("Get the page https://example.com/a.html as text.", "web_get_contents"),
    ("Ask a stronger model whether this design is good.", "ask_smart_friend"),
    ("What do my added documents say about refunds?", "librarian librarian_search"),
    ("Put write the parser on your checklist.", "TodoCreate"),
    ("Which todos are open?", "TodoRead"),
    ("Why did test_cart fail, and is it flaky?", "analyze_test_failure"),
    ("Open http://localhost:3000 in the browser.", "browser_navigate"),
    ("Press the button Save on the page.", "browser_click"),
    ("Type Ada into the field name of the page.", "browser_type"),
    ("Take a picture of the page.", "browser_screenshot"),
    ("Which errors are in the browser's console?", "browser_console"),
    ("Choose Germany in the list of countries on the page.", "browser_select_option"),
    ("Look at the page as on a phone.", "browser_set_mobile"),
    ("Begin to film the browser.", "recording_start"),
    ("Stop filming the browser.", "recording_stop"),
    ("Scroll down the page.", "browser_scroll"),
    ("Show the last commits.", "git_log bash"),
    ("What changed between main and this branch?", "git_diff bash"),
    ("Make a branch named login.", "git_create_branch bash"),
    ("Go to the branch main.", "git_checkout bash"),
    ("Show what commit 1a2b3c4 did.", "git_show bash"),
    ("Unstage everything.", "git_reset bash"),
    ("Open a pull request for the branch login.", "git_create_pr"),
    ("What do the reviewers say on pull request 12?", "git_view_pr"),
    ("Did the checks of pull request 12 pass?", "git_pr_checks"),
    ("Show the log of CI job 345.", "git_ci_job_logs"),
    ("Write on pull request 12 that it looks good.", "git_comment_on_pr"),
    ("Which repositories do I have on the forge?", "list_repos"),
    ("What lies in the folder data?", "fs_list_directory bash glob"),
    ("Make a folder named archive.", "fs_create_directory bash"),
    ("Delete the file old.csv.", "fs_delete bash"),
    ("Rename a.csv to b.csv.", "fs_move bash"),
    ("Put the folder dist up as a web page.", "deploy"),
    ("Which secrets are there?", "list_secrets"),
    ("Use the tools of the MCP server weather.", "mcp_tool"),
    ("Have one helper explore the server and another the client.", "run_helpers"),
    ("Where is the class Basket declared?", "find_symbol lsp_tool grep bash"),
    ("Which lines use the function total?", "find_references lsp_tool grep bash"),
    ("Give me a map of this project.", "repo_map"),
    ("What do you remember of this project?", "recall"),
    ("Is there a skill for release notes?", "find_skills"),
)


class Option(Struct, frozen=True):
    """What a model may choose at its place: a tool, and for a step in the menu where it leads."""

    text: str
    call: ToolCall
    about: str


class Shown(Struct, frozen=True):
    menu: MenuManager
    searches: bool
    tools: tuple[ToolSchema, ...]
    options: tuple[Option, ...]
    right: frozenset[str]  # the options that an example, or who knows, would choose


class Chooser(Protocol):
    async def choose(self, asked: str, wanted: frozenset[str], shown: Shown, told: Sequence[Message]) -> ToolCall: ...


class Tried(Struct):
    """One request on its way to a tool."""

    asked: str
    wanted: frozenset[str]
    menu: MenuManager
    told: list[Message]
    requests: int = 0
    sent: int = 0  # bytes of tools
    fresh: int = 0  # of these, in requests whose tools are not those of the one before
    seen: str | None = None  # the place of the one before
    chosen: str = ""
    over: bool = False


class Tools:
    """What Quintet shows at each place, by one presentation."""

    def __init__(
        self,
        presentation: Presentation,
        places: Mapping[str, tuple[ToolSchema, ...]],
        about: Mapping[str, str],
        toolsets: Mapping[str, ToolMode],
    ) -> None:
        self.presentation = presentation
        self.places = places
        self.sizes = {place: len(_bytes(tools)) for place, tools in places.items()}
        self._about = about
        self._toolsets = toolsets

    def menu(self) -> MenuManager:
        return MenuManager(self._about, toolsets=self._toolsets)

    def shown(self, asked: str, wanted: frozenset[str], menu: MenuManager) -> Shown:
        tools = self.places["" if self.presentation is Presentation.FLAT else menu.toolset]
        options = tuple(option for tool in tools for option in _options(tool, menu, asked))
        return Shown(menu, self.presentation is Presentation.SEARCH, tools, options, _right(options, wanted, menu))


def _options(tool: ToolSchema, menu: MenuManager, asked: str) -> Iterable[Option]:
    about = tool.description.partition(". ")[0].partition("\n")[0].rstrip(".")
    if tool.name == "menu_enter":
        for one in menu.choices():
            if one.name != menu.toolset:
                yield Option(f"menu_enter {one.name}", _call(tool.name, mode=one.name), one.description)
    elif tool.name == REQUEST_TOOLS:
        yield Option(tool.name, _call(tool.name, tool_names=[asked]), about)
    else:
        yield Option(tool.name, _call(tool.name), about)


def _call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


def _right(options: Iterable[Option], wanted: frozenset[str], menu: MenuManager) -> frozenset[str]:
    """The tools themselves where they are in view, else each toolset that has one."""
    direct = frozenset(option.text for option in options if option.call.name in wanted)
    homes = (f"menu_enter {one.name}" for one in menu.choices() if wanted & set(one.tool_list))
    return direct or frozenset(homes)


def _bytes(tools: Sequence[ToolSchema]) -> bytes:
    return msgspec.json.encode(WIRE._body(Request("m", (Message(Role.USER, "x"),), tuple(tools)))["tools"])


# ── who chooses


class Knows:
    async def choose(self, asked: str, wanted: frozenset[str], shown: Shown, told: Sequence[Message]) -> ToolCall:
        return next((one.call for one in shown.options if one.text in shown.right), _call("complete"))


class Words:
    """By search it searches first. Else the tool or toolset with the most of the request's words, a rare one counting
    more; it enters nothing twice."""

    async def choose(self, asked: str, wanted: frozenset[str], shown: Shown, told: Sequence[Message]) -> ToolCall:
        options = {one.text: one for one in shown.options if one.call.name not in NO_TOOLS}
        if shown.searches and not told:
            return options[REQUEST_TOOLS].call
        for message in told:
            for call in message.calls:
                options.pop(f"menu_enter {json.loads(call.arguments).get('mode')}", None)
        options.pop(REQUEST_TOOLS, None)
        texts = {text: _words(f"{text} {one.about}") for text, one in options.items()}
        wants = _words(asked)
        weights = {word: 1 / (1 + sum(word in words for words in texts.values())) for word in wants}
        return options[max(options, key=lambda text: sum(weights[word] for word in wants & texts[text]))].call


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z0-9]+", text.lower())} - SMALL_WORDS


class Weights:
    """A model behind a llama.cpp server, which writes one of the options."""

    def __init__(self, url: str) -> None:
        self._at = urlsplit(url)

    async def choose(self, asked: str, wanted: frozenset[str], shown: Shown, told: Sequence[Message]) -> ToolCall:
        lines = [f"- {one.text}: {one.about[:MOST_ABOUT]}" for one in shown.options]
        before = [f"Request: {text}\nTool: {name}\n" for text, name in self._examples(shown)]
        prompt = "\n".join(["Tools:", *lines, "", "One of these tools for each request:", "", *before])
        prompt += f"\nRequest: {asked}\nTool:"
        names = " | ".join(json.dumps(f" {one.text}\n") for one in shown.options)
        body = {"prompt": prompt, "grammar": f"root ::= {names}", "temperature": 0, "n_predict": 32}
        text = await asyncio.to_thread(self._asked, body)
        return next((one.call for one in shown.options if one.text == text.strip()), _call("complete"))

    def _examples(self, shown: Shown) -> Iterable[tuple[str, str]]:
        here = {one.text for one in shown.options}
        for text, tool in EXAMPLES:
            homes = (name for name in ("data", "git") if f"menu_enter {name}" in here)
            yield text, tool if tool in here else f"menu_enter {next(homes, '')}".strip()

    def _asked(self, body: dict[str, Any]) -> str:
        connection = HTTPConnection(self._at.hostname or "", self._at.port, timeout=ASKING_SECONDS)
        connection.request("POST", "/completion", json.dumps(body), {"content-type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if "content" not in answer:
            raise SystemExit(f"{self._at.geturl()}: {answer}")
        return str(answer["content"])


class Configured:
    """One of the user's models, with tools as its API has them."""

    def __init__(self, model: Model, name: str) -> None:
        self._model, self._name = model, name

    async def choose(self, asked: str, wanted: frozenset[str], shown: Shown, told: Sequence[Message]) -> ToolCall:
        place = f"\n\n{shown.menu.list()}" if any(one.call.name == "menu_enter" for one in shown.options) else ""
        messages = (Message(Role.SYSTEM, SYSTEM + place), Message(Role.USER, asked), *told)
        reply = self._model.stream(Request(self._name, messages, shown.tools))
        calls = [part.call async for part in reply if isinstance(part, CallPart)]
        return calls[0] if calls else _call("complete")


# ── trying


async def tried(chooser: Chooser, tools: Tools, every: int) -> list[Tried]:
    """Requests on their way; those at one place together, so that a server may keep what they have in common."""
    all_of_them = [Tried(asked, frozenset(right.split()), tools.menu(), []) for asked, right in WANTED[::every]]
    while going := [one for one in all_of_them if not one.over]:
        for one in sorted(going, key=lambda each: each.menu.toolset):
            await _step(one, chooser, tools)
    return all_of_them


async def _step(one: Tried, chooser: Chooser, tools: Tools) -> None:
    shown = tools.shown(one.asked, one.wanted, one.menu)
    place = "" if tools.presentation is Presentation.FLAT else one.menu.toolset
    one.requests += 1
    one.sent += tools.sizes[place]
    one.fresh += 0 if one.seen == place else tools.sizes[place]
    one.seen = place
    call = msgspec.structs.replace(await chooser.choose(one.asked, one.wanted, shown, one.told), id=f"c{one.requests}")
    if call.name not in STEPS:
        one.chosen, one.over = call.name, True
        return
    one.told += [
        Message(Role.ASSISTANT, "", (call,)),
        Message(Role.TOOL, _carried_out(call, one.menu), call_id=call.id),
    ]
    one.over = one.requests == MOST_REQUESTS


def _carried_out(call: ToolCall, menu: MenuManager) -> str:
    try:
        words = json.loads(call.arguments or "{}")
        if call.name == "menu_enter":
            return menu.enter(str(words.get("mode", "")))
        if call.name == "menu_exit":
            return menu.exit()
        if call.name == REQUEST_TOOLS:
            if words.get("category"):
                return menu.enter(str(words["category"]))
            found = menu.find(words.get("tool_names") or ())
            return f"{found[0]} matches.\n{menu.enter(menu.home(found[0]))}" if found else f"nothing.\n{menu.list()}"
    except (ToolFailed, ValueError, TypeError) as error:
        return str(error)
    return menu.list() if call.name == "menu_list" else "noted"


# ── telling


async def _presented(folder: str, presentation: Presentation) -> Tools:
    project = locate(folder)
    core = make_core(project, config.load(project, {"tools.presentation": str(presentation)}))
    box = core.turn.toolbox
    about = {name: spec.description for name, spec in box.specs.items() if name in within_reach(CONTEXT, box.specs)}
    toolsets = with_own({name: spec.toolset for name, spec in box.specs.items() if spec.toolset})
    menu = MenuManager(about, toolsets=toolsets)
    names = [""] if presentation is Presentation.FLAT else ["", *(one.name for one in menu.choices())]
    places = {name: tuple(box.schemas(box.plan(CallContext(AXES, name)).tools)) for name in names}
    await core.store.close()
    return Tools(presentation, places, about, toolsets)


def figures_of(name: str, tools: Tools, ones: Sequence[Tried]) -> dict[str, Any]:
    right = sum(one.chosen in one.wanted for one in ones)
    low, high = wilson(right, len(ones))
    return {
        "model": name,
        "presentation": str(tools.presentation),
        "right": right,
        "of": len(ones),
        "low": round(low, 3),
        "high": round(high, 3),
        "requests": round(sum(one.requests for one in ones) / len(ones), 2),
        "bytes": round(sum(one.sent for one in ones) / len(ones)),
        "fresh_bytes": round(sum(one.fresh for one in ones) / len(ones)),
        "wrong": [[one.asked, one.chosen] for one in ones if one.chosen not in one.wanted],
    }


async def measured(models: Sequence[str], weights: Sequence[str], own: Models, every: int) -> list[dict[str, Any]]:
    choosers: dict[str, Chooser] = {"knows": Knows(), "words": Words()}
    choosers |= {name: Configured(own.get(name), name) for name in models}
    choosers |= {name: Weights(url) for name, _, url in (one.partition("=") for one in weights)}
    figures = []
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = folder
        shown = [await _presented(folder, one) for one in (Presentation.FLAT, Presentation.MENU, Presentation.SEARCH)]
        for name, chooser in choosers.items():
            for tools in shown:
                figures.append(figures_of(name, tools, await tried(chooser, tools, every)))
                print(f"{name} {tools.presentation}: {figures[-1]['right']}", file=sys.stderr, flush=True)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", action="append", default=[], metavar="NAME", help="one of your models")
    parser.add_argument("--weights", action="append", default=[], metavar="NAME=URL", help="a llama.cpp server")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth request (1)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    own = Models(config.load(locate(".")).settings)
    figures = asyncio.run(measured(wanted.model, wanted.weights, own, wanted.every))
    rows = [
        (
            f"{one['model']}, {one['presentation']}",
            f"{one['right']}/{one['of']} ({one['low']:.0%} to {one['high']:.0%})",
            f"{one['requests']:.2f}",
            f"{one['bytes']:,}",
            f"{one['fresh_bytes']:,}",
        )
        for one in figures
    ]
    text = table(("", "right tool", "requests", "bytes of tools", "of these new"), rows)
    say(text, {"requests": len(WANTED[:: wanted.every]), "figures": figures}, wanted.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
