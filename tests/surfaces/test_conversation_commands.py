"""The commands people look for, given to the real program: a new conversation, what changed, and taking it back."""

import base64
import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.adapters.model_server import Reply
from tests.surfaces.program import BUILD, EDIT, Model, Program, call

pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")

COUNT = "tally/count.py"


def says(quintet: Program, line: str, code: int = 0) -> str:
    done = quintet.run("-p", line, "--resume").clean(code)
    return done.out + done.err


# ── /clear and /new


@pytest.mark.parametrize("command", ["/clear", "/new"])
def test_a_new_conversation_is_told_nothing_of_the_old_one_and_keeps_the_dials(
    quintet: Program, model: Model, command: str
) -> None:
    server = model(Reply(text="Blue."), Reply(text="Which one?"), Reply(text="Blue again."))
    quintet.run("-p", "my colour is blue", "--model-mode", "deep").clean(0)
    assert "The dials stay" in says(quintet, command)
    says(quintet, "which colour is mine?")
    assert [said for _, said in server.said[1][1:]] == ["which colour is mine?"]
    shown = says(quintet, "/rewind")
    number = re.findall(r"(\d+) .*\(new conversation\)", shown)[0]
    says(quintet, f"/rewind {number} conversation")
    says(quintet, "which colour is mine?")
    assert "my colour is blue" in [said for _, said in server.said[2]], "the journal has what was"
    assert quintet.sessions()[0]["axes"]["model_mode"] == "deep"
    assert len(quintet.sessions()) == 1


def test_a_new_conversation_waits_for_no_turn_but_refuses_while_one_runs(quintet: Program, model: Model) -> None:
    model(*EDIT)
    terminal = quintet.plain()
    terminal.types("rename it")
    terminal.sees("[n] no")
    terminal.types("/clear")
    terminal.sees("a turn is running; /stop ends it, then /clear")


# ── /diff and /undo


def changed(quintet: Program) -> None:
    """Two turns that change files, without a model."""
    quintet.run("-p", "rename words to tokens", *BUILD).clean(0)
    says(quintet, '!!Write {"file_path": "new.txt", "content": "one\\ntwo\\n"}')


def test_diff_has_what_the_session_changed_with_line_numbers(quintet: Program) -> None:
    changed(quintet)
    shown = says(quintet, "/diff")
    assert "3 files, +6 −4" in shown
    assert "tally/count.py  changed  +1 −1" in shown
    assert re.search(r"^- +1  def words", shown, re.M) and re.search(r"^\+ +1  def tokens", shown, re.M)
    assert re.search(r"^\+ 2  two$", shown, re.M)
    last = says(quintet, "/diff last")
    assert "new.txt" in last and COUNT not in last
    told = json.loads(quintet.run("-p", "/diff", "--resume", "--output-format", "json").clean(0).out)
    assert "+++ b/new.txt" in told["data"]["diff"] and "--- /dev/null" in told["data"]["diff"]


def test_diff_of_a_session_that_changed_nothing_says_so(quintet: Program) -> None:
    quintet.run("-p", "find words").clean(0)
    assert "this session has changed no file" in says(quintet, "/diff")


def test_undo_shows_then_takes_back_one_turn_after_the_other_and_can_be_undone(quintet: Program) -> None:
    changed(quintet)
    shown = says(quintet, "/undo")
    assert "new.txt" in shown and COUNT not in shown and "/undo yes does it" in shown
    assert (quintet.root / "new.txt").exists()
    back = re.findall(r"(/rewind \d+ files) undoes this", says(quintet, "/undo yes"))[0]
    assert not (quintet.root / "new.txt").exists()
    assert "def tokens" in (quintet.root / COUNT).read_text()
    says(quintet, "/undo yes")
    assert "def words" in (quintet.root / COUNT).read_text()
    assert "there is nothing to undo" in says(quintet, "/undo", 2)
    says(quintet, back)
    assert (quintet.root / "new.txt").exists() and "def tokens" in (quintet.root / COUNT).read_text()
    assert "new.txt" in says(quintet, "/undo"), "what a rewind gave back can be undone again"


def test_undo_leaves_alone_what_somebody_else_changed_since(quintet: Program) -> None:
    changed(quintet)
    (quintet.root / "new.txt").write_text("mine\n")
    assert "changed from outside since then" in says(quintet, "/undo")
    says(quintet, "/undo yes")
    assert (quintet.root / "new.txt").read_text() == "mine\n"


# ── /init


def test_init_without_a_model_writes_what_the_files_say_through_the_gate(quintet: Program) -> None:
    (quintet.root / "package.json").write_text('{"scripts": {"test": "jest", "lint": "eslint .", "x": "y"}}')
    (quintet.root / "Makefile").write_text("build:\n\techo\nVERSION := 1\n")
    assert "not delivered" not in quintet.run("-p", "/init").clean(3).err, "restricted writes nothing"
    assert not (quintet.root / "AGENTS.md").exists()
    quintet.run("-p", "/init", *BUILD).clean(0)
    page = (quintet.root / "AGENTS.md").read_text()
    for line in ("- test: `npm run test`", "- lint: `npm run lint`", "- build: `make build`", "- `tally/`", "Python"):
        assert line in page
    (quintet.root / "AGENTS.md").write_text("mine\n")
    assert "already exists and was not changed" in quintet.run("-p", "/init", *BUILD).clean(0).out
    assert (quintet.root / "AGENTS.md").read_text() == "mine\n"


def test_init_with_a_model_is_a_turn_that_has_the_facts(quintet: Program, model: Model) -> None:
    server = model(
        call("Write", file_path="AGENTS.md", content="# Tally\n"), Reply(text="DONE Written."), Reply(text="DONE")
    )
    quintet.run("-p", "/init", *BUILD).clean(0)
    asked = next(said for role, said in server.said[0] if role == "user")
    assert "AGENTS.md" in asked and "languages, by number of files: Python" in asked
    assert (quintet.root / "AGENTS.md").read_text() == "# Tally\n"


# ── /sessions, /rules, /mcp


def test_sessions_are_listed_and_another_one_is_opened_in_plain(quintet: Program) -> None:
    quintet.run("-p", "find words").clean(0)
    first = quintet.sessions()[0]["session"]
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types("/sessions")
    terminal.sees(first, "find words", "/sessions ID")
    terminal.types("/sessions nosuch")
    terminal.sees("no session nosuch in this project")
    terminal.types(f"/sessions {first}")
    terminal.sees("QUINTET", f"resumed {first}: 1 turn", "› find words", "› ")
    terminal.types("/status")
    terminal.sees("session", first)
    assert f"quintet --resume {first}" in quintet.run("-p", f"/sessions {first}").clean(2).err


def test_rules_that_last_are_listed_shown_and_revoked_in_a_session(quintet: Program) -> None:
    quintet.run("-p", "find words").clean(0)
    rule = (
        quintet.run("rules", "add", "allow", "bash", "--prefix", "make test", "--effects", "build").clean(0).out.strip()
    )
    assert rule in says(quintet, "/rules") and "here" in says(quintet, "/rules")
    assert "make test" in says(quintet, f"/rules show {rule}")
    assert f"revoked {rule}" in says(quintet, f"/rules revoke {rule}")
    assert "no rules yet" in says(quintet, "/rules")
    assert "no rule begins with" in says(quintet, "/rules revoke nosuch", 2)


def test_mcp_servers_are_listed_with_their_state(quintet: Program) -> None:
    assert "no MCP servers yet" in quintet.run("-p", "/mcp").clean(0).out
    quintet.settings('[mcp.servers.one]\nurl = "http://127.0.0.1:9/mcp"\n')
    shown = quintet.run("-p", "/mcp").clean(0).out
    assert re.search(r"one +http +not started yet +your settings", shown)
    assert "there is no server two" in quintet.run("-p", "/mcp two").clean(2).err


# ── /export and /copy


def test_export_writes_a_new_file_without_secrets_and_html_that_needs_nothing(
    quintet: Program, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARBOUR_TOKEN", "tide-4711-lantern")
    model(Reply(text="See <b>this</b>:\n\n```python\nx = 1 < 2\n```\n"))
    quintet.run("-p", "say tide-4711-lantern").clean(0)
    assert "out.md" in says(quintet, "/export out.md")
    page = (quintet.root / "out.md").read_text()
    assert "```python\nx = 1 < 2\n```" in page and "> say " in page and "tide-4711-lantern" not in page
    assert "it already exists" in says(quintet, "/export out.md", 2)
    assert "path is protected" in says(quintet, "/export .git/hooks/pre-commit", 2)
    says(quintet, "/export page.html")
    html = (quintet.root / "page.html").read_text()
    assert "&lt;b&gt;this&lt;/b&gt;" in html and "<pre>x = 1 &lt; 2</pre>" in html
    assert not re.search(r"(src|href)=|https?://", html)
    kept = Path(says(quintet, "/export").partition(" was written to ")[2].strip())
    assert kept.read_text() == page
    session = quintet.sessions()[0]["session"]
    assert quintet.run("sessions", "export", session).clean(0).out == page
    assert quintet.run("sessions", "export", session, "--html").clean(0).out == html


def test_copy_gives_the_last_answer_to_the_terminal_and_says_where_it_cannot(quintet: Program, model: Model) -> None:
    model(Reply(text="Blue — or grün."))
    terminal = quintet.plain()
    terminal.types("/copy")
    terminal.sees("there is no answer to copy yet")
    terminal.types("which?")
    terminal.sees("grün.", "› ")
    terminal.types("/copy")
    code = base64.b64encode("Blue — or grün.".encode()).decode()
    terminal.sees(f"\x1b]52;c;{code}\x07")
    terminal.types("/quit")
    terminal.leaves()
    assert "/copy needs a terminal" in says(quintet, "/copy", 2)
    assert "not copied" in quintet.run("--plain", "--resume", stdin="/copy\n").clean(0).out


def test_the_facts_of_a_python_project(tmp_path: Path) -> None:
    from quintet.adapters.files.project_facts import look

    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n")
    (tmp_path / "uv.lock").write_text("")
    (tmp_path / "README.md").write_text("# Boats\n\nBoats keeps the times of the ferry in order.\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("x = 1\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/b.js").write_text("")
    (tmp_path / "Makefile").symlink_to("/etc/passwd")
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())
    facts = look(str(tmp_path), "boats")
    assert facts.about == "Boats keeps the times of the ferry in order."
    assert [one.line for one in facts.commands] == [
        "uv run python -m pytest",
        "uv run ruff check",
        "uv run ruff format",
        "uv run mypy .",
    ]
    assert (facts.languages, facts.folders) == ((("Python", 1),), (("src", 1),))
