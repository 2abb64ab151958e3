"""Agents on the surfaces there are: `--agent` headless and line by line, and the results that scripts read."""

from pathlib import Path

import pytest

from tests.adapters.model_server import Reply
from tests.engine.packages import item, row, write
from tests.surfaces.program import Model, Program, call

MENU = [item("tally", workflow="tally"), item("greet", action="Say hello"), item("great-day", action="Say good day")]


@pytest.fixture(autouse=True)
def crew(quintet: Program) -> Path:
    return write(quintet.root / ".quintet" / "agents" / "crew", "crew", MENU, row("tally", "Count.", "Write."))


def asked(quintet: Program, text: str, code: int, *flags: str) -> dict[str, object]:
    result: dict[str, object] = quintet.run("-p", text, "--output-format", "json", *flags).clean(code).json()
    return result


def test_s2_manual_type_hello_and_chat_answers(quintet: Program, model: Model) -> None:
    server = model(Reply(text="Hello!"))
    result = asked(quintet, "hello", 0, "--agent", "crew")
    assistant = {"role": "assistant", "content": "Hello!"}
    usage = {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 4}
    assert result["chat"] == {"success": True, "assistant": assistant, "usage": usage}
    assert result["dispatch"] == {
        "success": True,
        "event": {"type": "CHAT_RESPONSE", "assistant": assistant, "usage": usage},
    }
    assert "You are Crew, The crew." in server.said[0][0][1]


def test_s2_manual_type_a_number_and_its_item_is_triggered(quintet: Program, model: Model) -> None:
    server = model(Reply(text="Hello!"))
    assert quintet.run("--agent", "crew", "-p", "4").clean(0).out == "Hello!\n"
    assert server.said[0][-1] == ("user", "Say hello")


def test_s2_manual_type_a_trigger_and_a_run_is_created_and_continued(quintet: Program, model: Model) -> None:
    model(Reply(text="What?"), call("finish_step"), call("finish_step", result="7"), Reply(text="Seven."))
    result = asked(quintet, "tally", 0, "--agent", "crew")
    event = result["dispatch"]["event"]  # type: ignore[index]
    assert event["type"] == "RUN_STARTED" and event["run"]["workflow_ref"] == "tally"
    waiting = {"success": True, "phase": "waiting-user", "assistant_text": "What?", "error": None}
    assert result["run"] == waiting
    status = quintet.run("status", "--json").clean(0).json()
    assert (status["agent"], status["run"]["active"]["phase"]) == ("crew", "waiting-user")
    result = asked(quintet, "the words", 0, "--resume")
    assert result["run"] == {"success": True, "phase": "completed", "assistant_text": "Seven.", "error": None}
    assert "chat" not in result


def test_a_run_that_fails_says_so_in_its_result(quintet: Program, model: Model) -> None:
    model(Reply(status=401, body=b'{"error": {"message": "no"}}'))
    result = asked(quintet, "tally", 1, "--agent", "crew")
    run = result["run"]
    assert (run["success"], run["phase"], run["error"]["code"]) == (False, "failed", "LLM_ERROR")  # type: ignore[index]


def test_chat_that_fails_has_the_models_code(quintet: Program, model: Model) -> None:
    model(Reply(status=401, body=b'{"error": {"message": "no"}}'))
    result = asked(quintet, "hello", 1, "--agent", "crew")
    assert result["chat"]["error"]["code"] == "LLM_AUTH_FAILED"  # type: ignore[index]


def test_chat_that_is_blocked_has_a_code_too(quintet: Program, model: Model) -> None:
    model(call("bash", command="git push origin main"))
    result = asked(quintet, "publish it", 3, "--agent", "crew")
    assert result["chat"]["error"]["code"] == "TOOL_EXEC_FAILED"  # type: ignore[index]


def test_an_empty_input_shows_the_menu_and_an_unclear_one_is_not_carried_out(quintet: Program) -> None:
    shown = quintet.run("--agent", "crew", "-p", "").clean(0)
    assert shown.out.splitlines()[2:4] == ["3. Item tally", "4. Item greet"]
    result = asked(quintet, "77", 3, "--agent", "crew")
    assert result["dispatch"]["event"]["type"] == "CLARIFY_CHOICE"  # type: ignore[index]
    assert quintet.run("-p", "", "--resume").clean(0).out == shown.out
    quintet.run("-p", "/dismiss", "--resume").clean(0)
    assert "no agent is active" in quintet.run("-p", "", "--resume").clean(2).err


def test_a_failed_dispatch_is_a_result_with_its_code(quintet: Program, crew: Path) -> None:
    write(crew.parent, "crew", [item("old", workflow="old.yaml")])
    result = asked(quintet, "old", 1, "--agent", "crew")
    error = result["dispatch"]["error"]  # type: ignore[index]
    assert error["code"] == "NOT_SUPPORTED_CLASSIC_WORKFLOW"
    assert "nobody" in quintet.run("--agent", "nobody", "-p", "x").clean(1).err


def test_line_by_line_the_agent_shows_itself_and_its_steps(quintet: Program, model: Model) -> None:
    model(Reply(text="What shall I count?"), call("finish_step"), call("finish_step"), Reply(text="All counted."))
    person = quintet.plain("--agent", "crew")
    person.sees("Crew, The crew", "Keeps the tally", "3. Item tally", "› ")
    person.types("")
    person.sees("3. Item tally", "› ")
    person.types("3")
    person.sees("started: tally", "step     Step 1", "What shall I count?", "needs your input", "› ")
    person.types("words")
    person.sees("step     Step 2", "All counted.", "completed", "› ")
    person.types("/dismiss")
    person.sees("crew was dismissed", "› ")
    person.types("/quit")
    assert person.leaves()[0] == 0


def test_entering_an_unknown_agent_opens_no_session(quintet: Program) -> None:
    quintet.run("--agent", "nobody", "-p", "x").clean(1)
    assert quintet.sessions() == []


def test_headless_commands_on_agents_say_what_they_did(quintet: Program) -> None:
    assert quintet.run("-p", "/agents crew").clean(0).out == "you are talking to Crew, The crew\n"
    assert quintet.run("-p", "goodbye", "--resume").clean(0).out == "crew was dismissed\n"
    refused = quintet.run("-p", "/resume run-none").clean(1)
    assert "there is no run run-none" in refused.err
