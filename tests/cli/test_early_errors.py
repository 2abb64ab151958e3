"""What fails before there is a session: said once, and as one JSON result where a script asked for JSON."""

import json
import re

import pytest

from tests.adapters.model_server import Reply
from tests.surfaces.program import EDIT, PROGRAM, Model, Program

pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")


@pytest.mark.parametrize("form", ["json", "stream-json"])
@pytest.mark.parametrize(
    ("arguments", "exit_code", "code", "says"),
    [
        (("--bogus",), 2, "USAGE", "unrecognized arguments: --bogus"),
        (("--mode", "bild"), 2, "USAGE", 'mode "bild": not one of'),
        (("--max-turns", "many"), 2, "USAGE", '--max-turns: "many" is not a whole number'),
        (("--resume", "nosuch"), 1, "NOT_FOUND", "no session nosuch"),
        (("--model", "nosuch"), 2, "SETTINGS_INVALID", "nosuch"),
        (("--json-schema", "nosuch.json"), 2, "USAGE", "cannot be read"),
        (("-C", "/nosuch"), 2, "USAGE", "/nosuch"),
    ],
)
def test_an_error_before_a_session_is_a_json_result(
    quintet: Program, arguments: tuple[str, ...], exit_code: int, code: str, says: str, form: str
) -> None:
    done = quintet.run("-p", "hello", "--output-format", form, *arguments).clean(exit_code)
    result = json.loads(done.out)
    assert (result["type"], result["status"], result["session"]) == ("result", "failed", None)
    assert (result["error"]["code"], result["exit_code"]) == (code, exit_code)
    assert says in result["error"]["message"]
    assert done.err == ""


def test_bad_settings_are_a_json_result_too(quintet: Program) -> None:
    quintet.settings('[dials]\npermission_profile = "trused"\n')
    result = json.loads(quintet.run("headless", "hello", "--output-format=json").clean(2).out)
    assert result["error"]["code"] == "SETTINGS_INVALID"
    assert "Did you mean trusted?" in result["error"]["message"]


def test_a_flag_that_is_not_one_is_said_in_two_lines_with_the_nearest(quintet: Program) -> None:
    done = quintet.run("-p", "hello", "--permision-profile", "normal").clean(2)
    assert done.err == (
        "quintet: unrecognized arguments: --permision-profile normal. Did you mean --permission-profile?\n"
        "`quintet --help` shows its arguments.\n"
    )


def test_an_error_of_the_model_is_said_once(quintet: Program, model: Model) -> None:
    model(Reply(status=500))
    done = quintet.run("-p", "hello").clean(1)
    assert (done.err.count("HTTP 500"), done.err.count("LLM_HTTP_ERROR"), done.out) == (1, 1, "")


def test_settings_are_shown_as_they_are_written(quintet: Program) -> None:
    shown = quintet.run("settings").clean(0).out
    assert not re.search(r"<\w+\.|\('|',\)", shown)
    assert re.search(r'runs\.qa_modes +\["build", "repair"\]', shown)
    settings = [line for line in shown.splitlines() if re.match(r"[a-z_]+\.", line)]
    assert max(len(line) for line in settings if "secrets.patterns" not in line) < 130


def test_a_question_has_the_reason_of_the_decision_before_it(quintet: Program, model: Model) -> None:
    model(*EDIT)
    terminal = quintet.plain()
    terminal.types("rename it")
    terminal.sees("[n] no")
    terminal.types("n")
    terminal.sees("Renamed.")
    for kind in ("question_asked", "question_answered"):
        number = quintet.events(kind)[0]["seq"]
        assert "in chat every change needs approval" in quintet.run("why", str(number)).clean(0).out


def test_one_ctrl_c_ends_the_dialogue_of_models_add(quintet: Program) -> None:
    terminal = quintet.plain(command=[*PROGRAM, "models", "add"])
    terminal.sees("Which one?")
    terminal.interrupts()
    assert terminal.leaves()[0] == 130


def test_the_last_test_of_a_model_is_one_of_the_address_it_has(quintet: Program, model: Model) -> None:
    server = model(Reply(text="ok"))
    quintet.run("models", "test").clean(0)
    assert quintet.run("models", "--json").json()[0]["last_test"]["ok"]
    quintet.settings(server.settings().replace("127.0.0.1", "localhost"))
    assert quintet.run("models", "--json").json()[0]["last_test"] is None
