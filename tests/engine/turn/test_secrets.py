"""A known secret stays where it is: through whole sessions, in whatever a tool, a file or a person gives away."""

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from quintet.adapters.secrets.vault import Vault
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.messages import Request
from quintet.testing import ScriptedModel, call
from tests.domain.base.test_redaction import own_letters
from tests.engine.driving import Driver, drive

SECRET = 'c0rrect/h0rse+"batt3ry" é'
IN_FILE = "st4ple-of-the-file-77"
BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)


def encoded(secret: str) -> list[str]:
    """The forms it is planted in."""
    data = secret.encode()
    return [
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(secret))[3:-3],
        quote(secret),
        quote(secret, safe=""),
        data.hex(),
        *(base64.b64encode(b"x" * place + data + b"xxx").decode() for place in range(3)),
    ]


def forms(secret: str) -> list[str]:
    """Everything that must not be found, told from the outside."""
    return [*encoded(secret)[:-3], *(own_letters(secret, place, url=False) for place in range(3))]


@pytest.fixture
def planted(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A secret in the environment, another in an env file, both in files of the project in every form."""
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    (repo / ".env").write_text(f"# local\nSHOP_KEY='{IN_FILE}'\nDEBUG=true\n")
    leaks = [form for secret in (SECRET, IN_FILE) for form in encoded(secret)]
    (repo / "leak.txt").write_text("\n".join([*leaks, ""]), encoding="utf-8")
    return repo


def left_behind(tmp_path: Path) -> bytes:
    """Every byte of Quintet's own state: database, recordings, logs, outputs, artifacts."""
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert any(path.name == "state.db" for path in files) and any("runs" in path.parts for path in files)
    return b"\n".join(path.read_bytes() for path in files if "checkpoints" not in path.parts)


def assert_clean(text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    for secret in (SECRET, IN_FILE):
        for form in forms(secret):
            assert form.encode() not in data, form


def sent(requests: list[Request]) -> str:
    """All a model was told, as it was told it."""
    return "\n".join(f"{message.text}\n{message.calls}" for request in requests for message in request.messages)


async def collect(driver: Driver, into: list[str]) -> None:
    """Events as they are, and the words of signals so that pieces stand side by side."""
    async for item in driver.session.events(0, signals=True):
        words = getattr(item, "text", None)
        into.append(repr(item) if words is None else words)


def test_s0_a_secret_is_in_nothing_that_a_session_leaves_behind_or_sends(planted: Path, tmp_path: Path) -> None:
    (planted / "AGENTS.md").write_text(f"Deploy with {SECRET}.\n")
    slow = f"cat leak.txt; head -c 9 leak.txt; printf %s {IN_FILE[:5]}; sleep 0.05; printf %s {IN_FILE[5:]}"
    many = "for i in $(seq 900); do cat leak.txt; done"
    model = ScriptedModel(
        [
            [call("Read", file_path="leak.txt"), call("grep", pattern="c0rrect", output_mode="content")],
            [call("bash", command=slow), call("bash", command=many)],
            [call("Edit", file_path="leak.txt", old_string="x", new_string=SECRET)],
            [call("bash", command="cat leak.txt; sleep 0.2", run_in_background=True)],
            [call("bash_output", bash_id="1")],
            f"I found {SECRET} and {SECRET.encode().hex()}.",
        ],
        chunk=3,
    )
    heard: list[str] = []

    async def script(driver: Driver) -> None:
        listening = asyncio.create_task(collect(driver, heard))
        finished = await driver.turn(f"what is {SECRET}?")
        assert finished.answer == f"I found {'*' * len(SECRET)} and {'*' * len(SECRET.encode().hex())}."
        await driver.command(f"/rate 5 {IN_FILE}")
        listening.cancel()

    drive(planted, script, model, axes=BUILD)
    assert_clean(sent(model.requests))
    assert "*" * len(SECRET) in sent(model.requests)
    assert_clean("".join(heard))  # joined: not in pieces either
    assert_clean(left_behind(tmp_path))
    outputs = list((tmp_path / "state").rglob("outputs/*.txt"))
    assert outputs and all(b"****" in path.read_bytes() for path in outputs), "what is kept whole is kept without it"


def test_s0_a_line_that_is_cut_leaves_no_half_of_a_secret(planted: Path, tmp_path: Path) -> None:
    (planted / "long.txt").write_text(f"{'x' * 1_990}{IN_FILE}{'x' * 100}\n")
    model = ScriptedModel([[call("Read", file_path="long.txt")]])
    driver = drive(planted, lambda driver: driver.turn("go"), model, axes=BUILD)  # type: ignore[arg-type,return-value]
    (read,) = driver.of(p.ToolFinished)
    assert f"{'x' * 1_990}{'*' * 10}… (" in read.content
    assert IN_FILE[:10] not in sent(model.requests) and IN_FILE[:10].encode() not in left_behind(tmp_path)


def test_s0_a_crash_is_logged_without_secrets(planted: Path, tmp_path: Path) -> None:
    def breaks(request: Request) -> Any:
        raise RuntimeError(f"cannot deploy with {SECRET}")

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.until_type(p.TurnFinished)

    drive(planted, script, ScriptedModel([breaks]), axes=BUILD)
    (log,) = (tmp_path / "state").rglob("quintet.log")
    assert "cannot deploy with ****" in log.read_text()
    assert_clean(left_behind(tmp_path))


def test_s0_a_child_has_a_secret_only_if_its_command_was_given_it(planted: Path, tmp_path: Path) -> None:
    print_it = "printenv DEPLOY_TOKEN"
    model = ScriptedModel(
        [
            [call("bash", command=f"{print_it} | tee piped.txt")],
            [call("bash", command=print_it)],
            [call("bash", command=f"{print_it} > got.txt")],
            [call("bash", command=f"{print_it}; env")],
            [call("bash", command="env")],
            [call("bash", command=print_it)],
            [call("list_secrets")],
        ]
    )
    settings = {"secrets.expose": ("DEPLOY_TOKEN: printenv *",)}
    driver = drive(planted, lambda driver: driver.turn("go"), model, axes=BUILD, settings=settings)  # type: ignore[arg-type,return-value]
    piped, printed, written, mixed, env, again, listed = driver.of(p.ToolFinished)
    assert "***" not in piped.content and (planted / "piped.txt").read_text() == ""
    assert printed.content == f"{'*' * len(SECRET)}\nexit 0" == again.content
    assert written.status == "ok" and (planted / "got.txt").read_text() == f"{SECRET}\n"
    assert mixed.status == "ok" and "DEPLOY_TOKEN" not in mixed.content and "***" not in mixed.content
    assert "DEPLOY_TOKEN" not in env.content and "SHOP_KEY" not in env.content
    assert "DEPLOY_TOKEN  from environment  exposed to: printenv *" in listed.content
    assert "SHOP_KEY  from .env  exposed to no command" in listed.content
    grants = [decided.grant.secrets for decided in driver.of(p.CallDecided)]
    assert grants == [(), ("DEPLOY_TOKEN",), ("DEPLOY_TOKEN",), (), (), ("DEPLOY_TOKEN",), ()]
    assert_clean(left_behind(tmp_path))


def test_a_background_shell_gets_what_its_command_was_given(planted: Path) -> None:
    def look(request: Request) -> Any:
        over = "(exit " in request.messages[-1].text
        return "done" if over else [call("wait", seconds=0.1), call("bash_output", bash_id="1")]

    for name, given in (("DEPLOY_TOKEN", True), ("SHOP_KEY", False)):
        starts = [call("bash", command=f"printenv {name}", run_in_background=True)]
        settings = {"secrets.expose": ("DEPLOY_TOKEN: printenv *",), "limits.max_turns": 0}
        model = ScriptedModel([starts, *[look] * 100])
        driver = drive(planted, lambda driver: driver.turn("go"), model, axes=BUILD, settings=settings)  # type: ignore[arg-type,return-value]
        said = "".join(event.content for event in driver.of(p.ToolFinished))
        assert ("*" * len(SECRET) in said, "(exit 0)" in said) == (given, given)


def test_a_question_says_which_secrets_a_command_would_get(planted: Path) -> None:
    model = ScriptedModel([[call("bash", command="printenv DEPLOY_TOKEN > got.txt")]])

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await driver.until_type(p.QuestionAsked)
        assert "Secrets    DEPLOY_TOKEN, in its environment" in asked.detail
        await driver.session.submit(p.Answer(question=asked.question, choice="n", note=f"not {SECRET}"))
        await driver.until_type(p.TurnFinished)

    chat = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)
    settings = {"secrets.expose": ("DEPLOY_TOKEN: printenv *",)}
    driver = drive(planted, script, model, axes=chat, person=True, settings=settings)
    assert not (planted / "got.txt").exists()
    (refused,) = driver.of(p.ToolFinished)
    assert refused.content == f"not run: the user said no: not {'*' * len(SECRET)}"


def test_an_untrusted_project_can_expose_and_ignore_nothing(planted: Path) -> None:
    (planted / ".quintet").mkdir()
    (planted / ".quintet/settings.toml").write_text(
        '[secrets]\nexpose = ["DEPLOY_TOKEN: *"]\nignore = ["*"]\npatterns = []\nfiles = []\n'
    )
    model = ScriptedModel([[call("bash", command="printenv DEPLOY_TOKEN")], [call("Read", file_path="leak.txt")]])
    driver = drive(planted, lambda driver: driver.turn("go"), model, axes=BUILD)  # type: ignore[arg-type,return-value]
    printed, read = driver.of(p.ToolFinished)
    assert "exit 1" in printed.content
    assert_clean(read.content)


def test_a_secret_that_is_new_is_kept_back_from_then_on(planted: Path) -> None:
    from quintet.adapters.files.paths import locate

    vault = Vault(locate(str(planted)), Settings(), os.environ)
    (planted / ".env.local").write_text("NEW_TOKEN=fresh-and-long-enough\n")
    vault.fresh()
    assert vault.clean("fresh-and-long-enough") == "*" * 21
    vault.learn("told-by-another-program")
    assert vault.text("told-by-another-program") == "*" * 23
    vault.learn_from({"Authorization": "Bearer of-a-header", "X-Api-Key": "of-another-header", "Region": "europe-west"})
    assert vault.text("of-a-header of-another-header europe-west") == f"{'*' * 11} {'*' * 17} europe-west"
    (planted / ".env.example").write_text("SAMPLE_TOKEN=put-your-token-here\n")
    vault.fresh()
    assert vault.clean("put-your-token-here") == "put-your-token-here", "an example is no secret"
    assert [one.name for one in vault.names()] == ["DEPLOY_TOKEN", "NEW_TOKEN", "SHOP_KEY"]


def test_names_that_hold_no_secret_can_be_excepted(planted: Path) -> None:
    model = ScriptedModel([[call("Read", file_path="leak.txt")]])
    settings = {"secrets.ignore": ("SHOP_*",)}
    driver = drive(planted, lambda driver: driver.turn("go"), model, axes=BUILD, settings=settings)  # type: ignore[arg-type,return-value]
    (read,) = driver.of(p.ToolFinished)
    assert IN_FILE in read.content and SECRET not in read.content
