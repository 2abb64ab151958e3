"""Pages of the core are run as they are printed; those of the features are run in tests/features/test_howtos.py."""

import re
import tomllib
from pathlib import Path

import pytest

from quintet.app.tool_registry import ALL
from tests.pages import ROOT, Reader, blocks, in_the_tutorials_project, same


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return in_the_tutorials_project(tmp_path)


# What needs a model is not run here.
SCRIPTED = [
    block
    for block in blocks("docs/howto/script-it.md", "text")
    if "say what fails" not in block and "publish them" not in block
]


@pytest.mark.parametrize("block", SCRIPTED, ids=lambda block: block.splitlines()[0][:40])
def test_script_it(reader: Reader, block: str) -> None:
    if "sessions list --json" in block:
        for request in ("tidy this up", "find total", "git status"):
            reader.runs(f'quintet -p "{request}"')
    reader.follows(block)


@pytest.mark.parametrize("block", blocks("docs/tutorial.md", "text")[:1], ids=["look"])
def test_the_tutorial(reader: Reader, block: str) -> None:
    reader.follows(block)


def test_a_page_that_shows_something_else_is_found(reader: Reader) -> None:
    with pytest.raises(AssertionError):
        reader.follows('$ quintet -p "find with_tax"\nwith_tax: 4 places\n…\n')


def test_write_an_agent(reader: Reader) -> None:
    made, checked, routed = blocks("docs/howto/write-an-agent.md", "text")
    reader.follows(made)
    (page,) = blocks("docs/howto/write-an-agent.md", "yaml")
    folder = reader.root / ".quintet/agents"
    written = folder / "harbour-guide/harbour-guide.agent.yaml"
    assert written.exists()
    written.write_text(page)
    (folder / "guide.agent.yaml").write_text(page.replace("TO or fuzzy match on tour", "Tour"))
    reader.follows(checked)
    (folder / "guide.agent.yaml").unlink()
    reader.follows(routed)


def test_run_a_workflow(reader: Reader) -> None:
    reader.runs(blocks("docs/howto/run-a-workflow.md", "sh")[0])
    command, *shown = blocks("docs/howto/run-a-workflow.md", "text")[0].splitlines()
    typed = [line.removeprefix("› ") for line in shown if line.startswith("› ")]
    line = command.removeprefix("$ ").replace("quintet ", "quintet --plain ", 1)
    printed = same(reader.runs(f"printf '{typed[0]}\\n' | {line}"), reader.root).splitlines()
    seen = iter(printed)
    for wanted in (same(line, reader.root) for line in shown if not line.startswith("› ")):
        assert wanted in [one.strip() for one in printed], wanted
        assert any(wanted == one.strip() for one in seen), f"{wanted} is shown out of order"


def test_run_a_flow(reader: Reader) -> None:
    (reader.root / "changes.md").write_text(blocks("docs/howto/run-a-flow.md", "markdown")[0])
    reader.follows(blocks("docs/howto/run-a-flow.md", "text")[1])


def test_the_page_about_approval_says_what_permit_prints(reader: Reader) -> None:
    (block,) = blocks("docs/approval.md", "text")
    reader.follows(block)


def test_the_tour_is_as_its_page_shows_it(reader: Reader) -> None:
    shown, _ = blocks("docs/tour.md", "text")
    printed = iter(plain(reader.runs("quintet tour")).splitlines())
    for wanted in plain(shown).splitlines():
        if "[…]" not in wanted and not wanted.startswith(" learnt"):  # it names files by the Python that ran
            assert any(wanted == line for line in printed), f"the tour does not print, or not in this order: {wanted}"


def plain(text: str) -> str:
    """The tour's output without what differs from run to run."""
    differ = ((r"/\S*quintet-tour-\w+", "TOUR"), (r" · [\d.]+ s\b", ""), (r"\bin [\d.]+s\b", "in T"))
    for pattern, word in (*differ, (r"\bwhy \d+", "why N"), (r"\b\d+ events\b", "N events"), (r" +", " ")):
        text = re.sub(pattern, word, text)
    return re.sub(r" $", "", text, flags=re.M)


def test_the_tutorials_session(reader: Reader) -> None:
    look, refused, change, tests, push, status, listed, shown, why, back, script = blocks("docs/tutorial.md", "text")
    for block in (look, refused):
        reader.follows(block)
    reader.at_a_terminal("quintet --plain", change, tests, push)
    reader.follows(status)
    reader.follows(listed)
    session = reader.runs("quintet sessions list --json | jq -r '.[0].session'").strip()
    reader.follows(re.sub(r"q5-\w+", session, shown).replace("[…]", "…"))
    asked = reader.runs(f"quintet sessions show {session} --events | grep call_decided | grep 'git push' | tail -1")
    number = re.search(r'"seq": ?(\d+)', asked)
    assert number, asked
    shown_number = str(int(number[1]) + 1)
    assert re.search(rf"^ +{shown_number}  \? Run: git push", reader.runs(f"quintet sessions show {session}"), re.M)
    reader.follows(why.replace("101", shown_number).replace("event    100", f"event    {number[1]}"))
    reader.says(back)
    reader.follows(script)


BUILD = "--mode build --permission-profile trusted"


def test_tasks(reader: Reader) -> None:
    page = "docs/howto/tasks.md"
    first = "---\nid: task-001\ntitle: Move the counting\n---\nMove it.\n"
    (reader.root / "task-001.md").write_text(first)
    (reader.root / "task-002.md").write_text(blocks(page, "markdown")[0])
    added, overview, doctor = blocks(page, "text")
    reader.follows(added)
    reader.follows(overview)
    folder = reader.root / ".quintet/todo"
    (folder / "task-002.md").unlink()
    (folder / "task-003.md").write_text(first.replace("001", "003").replace("---\nMove", "risk: huge\n---\nMove"))
    reader.follows(doctor)
    assert reader.runs("quintet doctor fix").startswith("wrote task-002.md again")


def test_health(reader: Reader) -> None:
    (fixed,) = blocks("docs/howto/health.md", "text")
    reader.follows(fixed)


def test_take_it_back(reader: Reader) -> None:
    listed, preview, *_ = blocks("docs/howto/take-it-back.md", "text")
    resume = ""
    for request in re.findall(r" [−\d]+ {2,}(.*)$", listed, re.M):
        reader.runs(f"quintet -p '{request}' --mode build --permission-profile normal {resume}")
        resume = "--resume"
    (reader.root / "notes.txt").write_text("of somebody else")
    reader.follows(listed)
    reader.says(preview)
    (left,) = (block for block in blocks("docs/howto/take-it-back.md", "sh") if "aside" in block)
    assert reader.runs(left) == "no session that was killed left files here\n" * 3


def test_rules(reader: Reader) -> None:
    rules, permit = blocks("docs/howto/rules.md", "sh")
    (reader.root / "lines.txt").write_text("# reads\nls\nrm notes.txt\npytest -q\n")
    made = reader.runs("quintet rules add allow bash 'make lint' --effects build").strip()
    printed = reader.runs(rules.replace("rule-1m7", made))
    assert "allow" in printed and f"revoked {made}: " in printed and "quintet:" not in printed, printed
    listed = reader.runs("quintet rules list")
    assert [word in listed for word in ("make test …", "shred build.key", "git push*")] == [True] * 3, listed
    printed = reader.runs(permit)
    assert "allow if kept" in printed and '"if_kept": 1' in printed, printed


def test_secrets(reader: Reader) -> None:
    printed = reader.runs(
        blocks("docs/howto/secrets.md", "sh")[0].replace("quintet secrets set", "echo 12345678 | quintet secrets set")
    )
    assert "DEPLOY_TOKEN is stored in" in printed and "DEPLOY_TOKEN was removed from" in printed, printed
    assert "12345678" not in printed


def test_replay_a_run(reader: Reader) -> None:
    reader.runs('quintet -p "find total"')
    session = reader.runs("quintet sessions list --json | jq -r '.[0].session'").strip()
    printed = reader.runs(f"quintet replay {session}")
    assert re.fullmatch(r"equal: \d+ events, \d+ requests?, \d+ calls?\n", printed), printed
    (share,) = blocks("docs/howto/replay-a-run.md", "sh")
    assert printed in reader.runs(share.replace("ID", session))
    found = reader.runs('quintet -p "find total" --model replay:run.jsonl')
    assert "total" in found and "failed" not in found, found


def test_look_at_a_run(reader: Reader) -> None:
    page = "docs/howto/look-at-a-run.md"
    text = (ROOT / page).read_text()
    reader.runs(f"quintet -p 'run the tests' {BUILD}")
    for command in re.findall(r"^\| .* \| (?:.*?)`(quintet [a-z]+[^`]*)`", text, re.M):
        if "--follow" in command or "WORDS" in command or "EVENT" in command:
            continue
        for line in (command, f"{command} --json"):
            assert reader.runs(f"{line} >/dev/null || echo failed") == "", line
    html = next(block for block in blocks(page, "sh") if "--html" in block)
    assert (reader.root / "run.html").is_file() is False
    reader.runs(html)
    assert "<html" in (reader.root / "run.html").read_text()
    table, *_ = (block for block in blocks(page, "text") if "quintet cost" in block)
    command, heading, *_ = table.splitlines()
    assert reader.runs(command.removeprefix("$ ")).splitlines()[0].split() == heading.split()
    assert "run the tests" in reader.runs("quintet sessions search run tests")


def test_hooks(reader: Reader) -> None:
    (page,) = blocks("docs/howto/hooks.md", "toml")
    hooks = tomllib.loads(page)["hooks"]
    for (line,) in hooks.values():
        file = Path(line.replace("~", reader.env["HOME"]))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\ncat > /dev/null\necho it is Friday >&2\nexit 2\n")
        file.chmod(0o755)
    reader.sets(page)
    terminal = reader.opens("quintet --plain")
    try:
        terminal.expect_exact("› ")
        terminal.sendline("run the tests")
        terminal.expect_exact("it is Friday")
    finally:
        terminal.close(force=True)
    assert reader.runs("quintet -p 'find with_tax'").startswith("with_tax: 3 places")


def test_executors(reader: Reader) -> None:
    (look,) = blocks("docs/howto/executors.md", "sh")
    reader.sets("\n".join(blocks("docs/howto/executors.md", "toml")))
    listed = reader.runs(look)
    for name in ("native", "codex", "claude", "gemini", "open"):
        assert re.search(rf"^{name} ", listed, re.M), listed


def test_steer_another_terminal(reader: Reader) -> None:
    listed, turned, shown, later, landed = blocks("docs/howto/steer-another-terminal.md", "text")
    first = reader.opens("quintet --plain --mode build --permission-profile normal")
    try:
        first.expect_exact("› ")
        first.sendline("! until [ -e go ]; do sleep 0.1; done")  # the page sleeps for 8 seconds
        first.expect_exact("n no")
        reader.waits()
        first.sendline("s")
        first.expect_exact("▸ bash until")
        session = re.search(r"^(q5-\w+) .*\(live\)", reader.runs("quintet sessions list"), re.M)
        assert session
        ids = re.search(r"q5-\w+", listed)
        assert ids
        for block in (turned, later):
            reader.follows(block.replace(ids[0], session[1]))
            if block is turned:
                (reader.root / "go").touch()
                for line in shown.splitlines()[1:]:
                    first.expect_exact(line.split("   ")[0].split(" · ")[0].strip())
        first.sendline("find total")
        for line in landed.splitlines()[1:]:
            if line != "[…]":
                first.expect_exact(line)
    finally:
        first.close(force=True)


def test_the_question_about_a_pasted_line_is_that_of_the_screen() -> None:
    question, why, _, answers = blocks("docs/howto/prompt.md", "text")[0].splitlines()
    texts = (ROOT / "docs/words.txt").read_text()
    assert question in texts and "pasted" in why and "[s] in the sandbox" in answers
    assert why.replace("pasted", "{described}") in texts


PAGES = sorted(str(path.relative_to(ROOT)) for path in [*(ROOT / "docs/howto").glob("*.md"), ROOT / "README.md"])


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")])
def test_the_settings_of_a_page_are_taken(reader: Reader, page: str) -> None:
    for block in blocks(page, "toml"):
        if "entry-points" in block or "[[checks]]" in block:  # of a plugin, or a task of an eval
            continue
        table = tomllib.loads(block)
        routed = {name for key, name in table.get("routing", {}).items() if not key.endswith("effort")}
        others = routed - table.get("models", {}).keys()  # those that other blocks of the page configure
        models = (f'[models.{name}]\nbase_url = "http://127.0.0.1:9"\nmodel = "any"\n' for name in others)
        reader.sets("".join(models) + block)
        assert reader.runs("quintet settings > /dev/null; echo $?") == "0\n", block


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_only_tools_that_there_are(page: str) -> None:
    named = set(re.findall(r"quintet (?:tools call|permit --tool) (\w+)", (ROOT / page).read_text()))
    assert named <= {spec.name for spec in ALL} | {"count_rows", "weather_of"}  # the last two are of pages themselves


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "(?:sh|bash|text|json)")])
def test_every_page_is_run(page: str) -> None:
    """Some test reads the page."""
    sources = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    assert any(Path(page).name in source for source in sources)
