"""`quintet acp` with the SDK's own client at its stdin and stdout."""

import asyncio
import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from acp import RequestError, text_block
from acp.schema import (
    EmbeddedResourceContentBlock,
    EnvVariable,
    ImageContentBlock,
    McpServerStdio,
    ResourceContentBlock,
    SseMcpServer,
    TextResourceContents,
)

from quintet.domain.journal import protocol as p
from tests.adapters.model_server import Reply
from tests.features.acp.client import BOOLEANS, FORMS, editor
from tests.mcp_servers import listening
from tests.places import TESTS
from tests.scenarios.journals import Journal
from tests.surfaces.program import Model, Program, call, stuck_after

CREATE = 'create the file more.txt with "more"'
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_a_change_is_approved_and_shown_as_a_diff(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        at.picks = ["y"]
        assert await at.says(session, CREATE) == "end_turn"
        ((asked, options),) = at.asked
        kinds = {one.option_id: one.kind for one in options}
        assert kinds == {"y": "allow_once", "x": "allow_always", "b": "allow_always", "n": "reject_once"}
        (begun,) = [one for one in at.of("tool_call") if one["kind"] == "edit"]
        assert asked.tool_call_id == begun["toolCallId"] and begun["status"] == "pending"
        assert begun["locations"] == [{"path": str(repo / "more.txt")}]
        assert begun["rawInput"]["file_path"] == "more.txt"
        moved = [one for one in at.of("tool_call_update") if one["toolCallId"] == begun["toolCallId"]]
        assert [one["status"] for one in moved] == ["in_progress", "completed"]
        assert moved[-1]["content"] == [{"type": "diff", "path": str(repo / "more.txt"), "newText": "more\n"}]
        assert moved[-1]["rawOutput"]["status"] == "ok"
    assert (repo / "more.txt").read_text() == "more\n"


async def test_a_refusal_with_feedback_reaches_the_model(repo: Path, model: Model, quintet: Program) -> None:
    edit = call("Write", file_path="x.txt", content="x")
    thread = model(edit, Reply(text="Then not."))
    quintet.settings(thread.settings())
    async with editor(repo, can=FORMS) as at:
        session = await at.new(repo)
        at.picks, at.words = ["e"], ["use y.txt instead"]
        assert await at.says(session, "write it") == "end_turn"
        assert at.forms == ["What should it do instead?"]
        assert at.of("tool_call_update")[-1]["status"] == "failed"
    assert any("use y.txt instead" in text for _, text in thread.said[-1])
    assert not (repo / "x.txt").exists()


async def test_without_forms_feedback_is_not_offered(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        at.picks = ["n"]
        await at.says(session, CREATE)
        assert [one.option_id for one in at.asked[0][1] if one.kind == "reject_once"] == ["n"]
    assert not (repo / "more.txt").exists()


async def test_a_running_turn_is_cancelled(repo: Path, model: Model, quintet: Program) -> None:
    quintet.settings(model(stuck_after("It cou")).settings())
    async with editor(repo) as at:
        session = await at.new(repo)
        running = asyncio.create_task(at.says(session, "what does it count?"))
        await at.sees(lambda: "It cou" in at.said())
        await at.connection.cancel(session_id=session)
        assert await running == "cancelled"


async def test_cancelling_an_open_question_ends_the_prompt(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        running = asyncio.create_task(at.says(session, CREATE))
        await at.sees(lambda: at.asked)
        await at.connection.cancel(session_id=session)
        at.pick(None)
        assert await running == "cancelled"
    assert not (repo / "more.txt").exists()


async def test_text_and_thoughts_stream_and_nothing_comes_twice(repo: Path, model: Model, quintet: Program) -> None:
    quintet.settings(model(Reply(text="<ide_reasoning>\nPlan: look\n</ide_reasoning>\nIt counts words.")).settings())
    async with editor(repo) as at:
        session = await at.new(repo)
        assert await at.says(session, "what does it count?") == "end_turn"
        assert at.said().strip() == "It counts words."
        assert at.said("agent_thought_chunk").strip() == "Plan: look"
        (used,) = at.of("usage_update")[-1:]
        assert 0 < used["used"] < used["size"]


async def test_dials_turn_both_ways(repo: Path, quintet: Program) -> None:
    async with editor(repo, can=BOOLEANS) as at:
        opened = await at.connection.new_session(cwd=str(repo), mcp_servers=[])
        session = opened.session_id
        assert opened.modes and opened.config_options
        assert [one.id for one in opened.modes.available_modes] == [
            "chat", "plan", "build", "review", "repair", "research",
        ]  # fmt: skip
        ids = [one.id for one in opened.config_options]
        assert ids == ["mode", "control", "permission-profile", "model-mode", "model", "reasoning"]
        await at.connection.set_session_mode(session_id=session, mode_id="build")
        await at.sees(lambda: at.of("current_mode_update"))
        changed = await at.connection.set_config_option(session_id=session, config_id="reasoning", value=True)
        assert changed and changed.config_options[-1].current_value is True
        assert at.said() == ""  # an option's new value says all
        await asyncio.to_thread(lambda: quintet.run("-p", "/control manual", "--resume", session).clean(0))

        def control() -> bool:
            told = at.of("config_option_update")[-1]["configOptions"]
            return {one["id"]: one["currentValue"] for one in told}["control"] == "manual"

        await at.sees(control)


async def test_what_is_no_value_is_an_error_with_quintets_code(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        with pytest.raises(RequestError) as wrong:
            await at.connection.set_session_mode(session_id=session, mode_id="fly")
        assert (wrong.value.code, wrong.value.data) == (-32602, {"code": "USAGE"})
        with pytest.raises(RequestError) as unknown:
            await at.says("nosuch", "hello")
        assert (unknown.value.code, unknown.value.data["code"]) == (-32002, "NOT_FOUND")
        with pytest.raises(RequestError) as relative:
            await at.connection.new_session(cwd="repo", mcp_servers=[])
        assert relative.value.code == -32602


async def test_a_model_that_refuses_its_key_is_an_error(repo: Path, model: Model, quintet: Program) -> None:
    quintet.settings(model(Reply(status=401, body='{"error": {"message": "no such key"}}')).settings())
    async with editor(repo) as at:
        session = await at.new(repo)
        with pytest.raises(RequestError) as refused:
            await at.says(session, "hello")
        assert (refused.value.code, refused.value.data["code"]) == (-32000, "LLM_AUTH_FAILED")


async def test_a_session_is_listed_loaded_resumed_and_forked(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        at.picks = ["y"]
        await at.says(session, CREATE)
    async with editor(repo) as at:
        listed = await at.connection.list_sessions(cwd=str(repo))
        assert [(one.session_id, one.title) for one in listed.sessions] == [(session, CREATE)]
        assert [one.session_id for one in (await at.connection.list_sessions()).sessions] == [session]
        await at.connection.load_session(cwd=str(repo), session_id=session, mcp_servers=[])
        assert at.said("user_message_chunk") == CREATE and "Added more.txt" in at.said()
        assert [one["kind"] for one in at.of("tool_call")] == ["read", "edit", "read"]
        before = len(at.updates)
        await at.connection.resume_session(cwd=str(repo), session_id=session)
        forked = await at.connection.fork_session(cwd=str(repo), session_id=session)
        assert forked.session_id != session
        assert {one["sessionUpdate"] for one in at.updates[before:]} <= {
            "available_commands_update", "session_info_update",
        }  # fmt: skip
        assert await at.says(forked.session_id, "/status") == "end_turn"
        await at.connection.close_session(session_id=forked.session_id)
        with pytest.raises(RequestError):
            await at.says(forked.session_id, "/status")


async def test_slash_commands_are_offered_and_run(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        (offered,) = await at.sees(lambda: at.of("available_commands_update"))
        assert {"mode", "plan", "accept", "rewind"} <= {one["name"] for one in offered["availableCommands"]}
        assert await at.says(session, "/status") == "end_turn"
        assert "chat │ assisted │ normal │ smart" in at.said()
        assert await at.says(session, "/nosuch") == "end_turn"
        assert "is not a command" in at.said()


async def test_a_plan_is_accepted_in_the_same_prompt_and_shown_as_a_plan(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        at.picks = ["a"]
        two = 'create the file a.txt with "a" and then create the file b.txt with "b"'
        assert await at.says(session, f"/plan {two}") == "end_turn"
        assert [one["status"] for one in at.of("plan")[-1]["entries"]] == ["completed", "completed"]
        assert (repo / "a.txt").exists() and (repo / "b.txt").exists()


async def test_files_pictures_and_what_the_editor_sends_along(repo: Path, model: Model, quintet: Program) -> None:
    thread = model(Reply(text="Seen."))
    quintet.settings(thread.settings(more="vision = true"))
    blocks = [
        text_block("look at"),
        ResourceContentBlock(type="resource_link", name="count.py", uri=(repo / "tally/count.py").as_uri()),
        EmbeddedResourceContentBlock(
            type="resource",
            resource=TextResourceContents(uri=(repo / "tally/new.py").as_uri(), text="see http://away.example/x"),
        ),
        ImageContentBlock(type="image", mime_type="image/png", data=base64.b64encode(PNG).decode()),
    ]
    async with editor(repo) as at:
        session = await at.new(repo)
        await at.connection.prompt(session_id=session, prompt=blocks)
    (begun,) = [event for event in Journal(repo).events() if isinstance(event, p.TurnStarted)]
    assert begun.text.startswith("look at @tally/count.py @tally/new.py /") and begun.text.endswith(".png")
    assert begun.quoted and "see http://away.example/x" in begun.quoted
    assert begun.images and len(begun.images) == 1
    assert begun.axes.surface == "rpc"


async def test_a_line_of_the_shell_has_no_rights_of_the_user(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        await at.says(session, "! echo hi")
    events = Journal(repo).events()
    assert [event.rights for event in events if isinstance(event, p.ToolStarted) and event.rights] == []
    assert any(isinstance(event, p.CallDecided) for event in events)


async def test_trust_is_asked_before_the_first_prompt(repo: Path, quintet: Program) -> None:
    quintet.settings("[limits]\nmax_turns = 7\n", project=True)
    async with editor(repo) as at:
        session = await at.new(repo)
        at.picks = ["y"]
        await at.says(session, "/settings")
        asked, options = at.asked[0]
        assert asked.title and asked.title.startswith("Trust this folder?")
        assert [one.kind for one in options] == ["allow_always", "reject_always"]
        assert await at.says(session, "/status") == "end_turn"
        assert len(at.asked) == 1
    assert "limits.max_turns" in at.said()


async def test_no_prompt_proceeds_while_the_question_about_the_folder_is_open(repo: Path, quintet: Program) -> None:
    quintet.settings("[limits]\nmax_turns = 7\n", project=True)
    async with editor(repo) as at:
        session = await at.new(repo)
        prompts = [asyncio.create_task(at.says(session, "/settings")) for _ in range(3)]
        await at.sees(lambda: at.asked)
        await at.connection.set_session_mode(session_id=session, mode_id="build")  # a whole round: nothing else came
        assert at.said() == "" and not any(one.done() for one in prompts)
        at.pick("y")
        assert [await one for one in prompts] == ["end_turn"] * 3
        assert len(at.asked) == 1 and at.said().count("limits.max_turns") == 3


@pytest.mark.parametrize("answered", [True, False])
async def test_cancelling_the_question_about_the_folder_ends_the_prompts_and_it_comes_again(
    repo: Path, quintet: Program, answered: bool
) -> None:
    quintet.settings("[limits]\nmax_turns = 7\n", project=True)
    async with editor(repo) as at:
        session = await at.new(repo)
        prompts = [asyncio.create_task(at.says(session, "/settings")) for _ in range(2)]
        await at.sees(lambda: at.asked)
        await at.connection.cancel(session_id=session)
        if answered:
            at.pick(None)
        assert [await one for one in prompts] == ["cancelled"] * 2 and at.said() == ""
        again = asyncio.create_task(at.says(session, "/settings"))
        await at.sees(lambda: len(at.asked) == 2)
        at.picks += ["n", "n"]
        at.notice()
        assert await again == "end_turn" and "limits.max_turns" in at.said()


@pytest.mark.parametrize("way", ["load_session", "resume_session", "fork_session"])
async def test_a_session_is_named_by_the_whole_of_its_id_and_its_own_project(
    repo: Path, tmp_path: Path, way: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with editor(repo) as at:
        session = await at.new(repo)
        await at.says(session, "/status")
        for cwd, name in (
            (repo, "latest"),
            (repo, "q"),
            (repo, session[:-1]),
            (repo, ""),
            (repo, "%"),
            (other, session),
        ):
            with pytest.raises(RequestError) as refused:
                await getattr(at.connection, way)(cwd=str(cwd), session_id=name, mcp_servers=[])
            assert (refused.value.code, refused.value.data["code"]) == (-32002, "NOT_FOUND")
        assert await at.says(session, "/status") == "end_turn"  # what was open still is


async def test_an_editors_servers_are_used_but_take_nothing_of_the_users(repo: Path, quintet: Program) -> None:
    quintet.settings('[mcp.servers.mine]\ncommand = "true"\n')

    def server(name: str, value: str = "") -> McpServerStdio:
        return McpServerStdio(name=name, command="cat", args=[], env=[EnvVariable(name="X", value=value)])

    async with editor(repo) as at:
        session = await at.new(repo, mcp_servers=[server("theirs"), server("mine"), server("sly", "${HOME}")])
        await at.sees(lambda: "sly" in at.said())
        assert "'mine' is not used: your settings have a server of that name" in at.said()
        assert "'sly' is not used: it asks for one of your variables" in at.said()
        await at.says(session, "/mcp")
        assert "theirs" in at.said() and "sly" not in at.said().partition("theirs")[2]


def asking(repo: Path) -> tuple[McpServerStdio, Reply]:
    """A server that an editor names, and a call by which it asks for words."""
    shutil.copy(TESTS / "mcp_servers/asking.py", repo / "asking.py")
    schema = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
    params = [{"message": "Where?", "requestedSchema": schema}]
    given = {"method": "elicitation/create", "params": params}
    ask = call("mcp_tool", command="call_tool", server="asking", tool_name="ask", tool_args=given)
    return McpServerStdio(name="asking", command=sys.executable, args=["-S", str(repo / "asking.py")], env=[]), ask


async def test_what_a_server_of_the_editors_asks_is_answered_in_a_form(
    repo: Path, model: Model, quintet: Program
) -> None:
    server, ask = asking(repo)
    quintet.settings(model(ask, Reply(text="Asked.")).settings())
    async with editor(repo, can=FORMS) as at:
        session = await at.new(repo, mcp_servers=[server])
        at.picks, at.words = ["y", "t"], ["at home"]
        assert await at.says(session, "ask it") == "end_turn"
        assert "Asked." in at.said()
        assert "at home" in str(at.of("tool_call_update"))


async def test_without_forms_the_next_message_is_the_answer(repo: Path, model: Model, quintet: Program) -> None:
    server, ask = asking(repo)
    quintet.settings(model(ask, Reply(text="Asked.")).settings())
    async with editor(repo) as at:
        session = await at.new(repo, mcp_servers=[server])
        at.picks = ["y"]
        assert await at.says(session, "ask it") == "end_turn"
        assert "Answer with your next message" in at.said() and "Asked." not in at.said()
        assert await at.says(session, "at home") == "end_turn"
        assert "at home" in str(at.of("tool_call_update"))
        assert "Asked." in at.said()


async def test_an_editors_server_of_the_older_transport_is_announced_asked_about_and_used(
    repo: Path, model: Model, quintet: Program
) -> None:
    add = call("mcp_tool", command="call_tool", server="old", tool_name="add", tool_args={"a": 19, "b": 23})
    quintet.settings(model(add, Reply(text="Added.")).settings())
    with listening("sse") as port:
        server = SseMcpServer(type="sse", name="old", url=f"http://127.0.0.1:{port}/sse", headers=[])
        async with editor(repo) as at:
            assert '"sse": true' in json.dumps(at.messages)
            session = await at.new(repo, mcp_servers=[server])
            at.picks = ["y"]
            assert await at.says(session, "add them") == "end_turn"
            assert "Added." in at.said()
            assert len(at.asked) == 1
            assert "42" in str(at.of("tool_call_update"))


async def test_a_terminal_and_an_editor_are_at_one_session(repo: Path, quintet: Program) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        await asyncio.to_thread(lambda: quintet.run("-p", "show the last 1 commits", "--resume", session).clean(0))
        await at.sees(lambda: "A small package" in str(at.updates))
        assert at.said("user_message_chunk") == "show the last 1 commits"


def test_what_is_no_message_is_answered_with_an_error(repo: Path, quintet: Program) -> None:
    done = quintet.run("acp", stdin=b'{nonsense\n[1]\n{"jsonrpc":"2.0","id":7,"method":"nosuch/method"}\n').clean(0)
    assert [one["error"]["code"] for one in done.lines()] == [-32700, -32600, -32601]


def test_nothing_of_it_is_loaded_by_other_commands(repo: Path) -> None:
    loaded = "sys.exit('acp' in sys.modules or 'pydantic' in sys.modules)"
    look = f"import sys, quintet.cli.main as m; m.main(['--help']); {loaded}"
    assert subprocess.run([sys.executable, "-c", look], cwd=repo, capture_output=True).returncode == 0
