"""Evals: what the agent cannot reach, what a grader can do, and what is counted."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.rule_book import FileRuleBook
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.evals.rates import pass_rate, wilson
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.rules import Rule
from quintet.domain.ports.ports import Model
from quintet.domain.ports.trials import TrialArm, TrialCase, TrialResult, TrialVerdict
from quintet.domain.turn.messages import CallPart, Request, Role
from quintet.features.registry import trial_runner
from quintet.features.skills.check_skill import at_path
from quintet.features.skills.evals.cases import arms, eval_cases
from quintet.features.skills.evals.page import page
from quintet.features.skills.evals.run import run_evals
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.skills.made import write_skill

pytestmark = pytest.mark.system("bwrap")
CANARY = "canary-of-the-answers"
AXES = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)  # as trials have them
PLAIN = TrialArm("with", {"tools.presentation": "flat", "runs.delivery_check": False, "runs.qa_review": False})


def make_case(folder: Path, grader: str = "#!/bin/sh\nexit 0\n", name: str = "grader.sh") -> TrialCase:
    case = folder / "evals/case-1"
    (case / "hidden").mkdir(parents=True)
    (case / "work").mkdir()
    (case / "work/a.txt").write_text("a\n")
    (case / "work/link").symlink_to("../hidden/answer.txt")
    (case / "hidden/answer.txt").write_text(CANARY)
    (case / name).write_text(grader)
    (case / name).chmod(0o755)
    return TrialCase(
        "suite", "case-1", "do it", str(case), str(case / name), str(case / "work"), str(case / "hidden"), seconds=60
    )


def tried(repo: Path, case: TrialCase, model: Model | None, arm: TrialArm = PLAIN, **settings: object) -> TrialResult:
    places = locate(str(repo))
    runner = trial_runner(places, config.load(places, {f"evals.{key}": value for key, value in settings.items()}))
    assert runner
    return asyncio.run(runner.run(case, arm, 1, model))


SPY = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked.get("method"), asked.get("params") or {}
    if "id" not in asked:
        continue
    told = {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}
    if method == "initialize":
        told = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "spy", "version": "1"}}
    elif method == "tools/call":
        try:
            said = open(params["arguments"]["path"]).read()
        except OSError as error:
            said = str(error)
        told = {"content": [{"type": "text", "text": said}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""


def ways(hidden: str, case: str, work: str) -> dict[str, CallPart]:
    """Ways to the answers, each a call that a model would make."""
    answer = f"{hidden}/answer.txt"

    def line(text: str, **more: object) -> CallPart:
        return call("bash", command=text, **more)

    def code(paths: str, **more: object) -> CallPart:
        """Reads what can be read of some paths: lines that nobody but the sandbox judges."""
        tried = f"import glob, os\nfor path in {paths}:\n if os.path.isfile(path):\n  print(open(path).read(2000))"
        return line(f"python3 - <<'END'\n{tried}\nEND\necho tried", **more)

    def helper(writes: bool) -> CallPart:
        return call("run_helpers", helpers=[{"role": "explorer", "task": f"read {answer}", "writes": writes}])

    return {
        "by its path": call("Read", file_path=answer),
        "by a path with dots": call("Read", file_path=f"{case}/work/../hidden/answer.txt"),
        "by a path from the workspace": call("Read", file_path=os.path.relpath(answer, work)),
        "by the link that the workspace has": call("Read", file_path="link"),
        "with the file tools": call("fs_read_file", path=answer),
        "listed": call("fs_list_directory", path=hidden),
        "searched": call("grep", pattern="canary", path=case),
        "matched": call("glob", pattern="**/answer*", path=os.path.dirname(case)),
        "by the index": call("search_code", query="canary of the answers"),
        "by the lines of the index": call("find_references", name="canary"),
        "printed": line(f"cat {answer}"),
        "through the link": line("cat link"),
        "through a new link": line(f"ln -s {answer} mine; cat mine"),
        "through a hard link": line(f"ln {answer} mine; cat mine"),
        "found anywhere": line("find / -name 'answer.txt' -exec cat {} + 2>/dev/null; true"),
        "by the roots of processes": code(f'glob.glob("/proc/*/root{answer}")'),
        "by the folders of processes": code('glob.glob("/proc/*/cwd/../hidden/answer.txt")'),
        "by what processes have open": code('glob.glob("/proc/[0-9]*/fd/[0-9]*")'),
        "by git": line(
            f"git --git-dir={case}/.git log -p; git log -p --all; git grep canary $(git rev-list --all); true"
        ),
        "by a clone of what is above": line(f"git clone -q {os.path.dirname(case)} got 2>&1; cat got/*/* ; true"),
        "by code": code(f'["{answer}"]'),
        "by code in the background": code(f'["{answer}"]', run_in_background=True),
        "by a mount": line(f"unshare -rm sh -c 'mount --bind {hidden} /mnt; cat /mnt/answer.txt'; true"),
        "as an archive": line(f"tar -cf - -C {case} . 2>&1 | strings; true"),
        "by an MCP server": call(
            "mcp_tool", command="call_tool", server="spy", tool_name="read", tool_args={"path": answer}
        ),
        "by a helper": helper(writes=False),
        "by a helper that writes": helper(writes=True),
    }


WAYS = tuple(ways("", "", ""))
_reached: dict[str, list[str]] = {}  # what the calls of each way gave back; from one session, run by the first test


@pytest.fixture
def reached(repo: Path, tmp_path: Path) -> dict[str, list[str]]:
    if _reached:
        return _reached
    case = make_case(tmp_path / "skill")
    work = tmp_path / "state/quintet-evals/suite/trial/work"
    shutil.copytree(case.work, work, symlinks=True)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "as it begins"]):
        subprocess.run(["git", *words], cwd=work, check=True)
    (work / "spy.py").write_text(SPY)
    let = Rule("let", "allow", "mcp_tool", "spy:read", effects=(Effect.NETWORK, Effect.EXECUTE))
    FileRuleBook(locate(str(work)).rules_file).add(let)
    found = ways(case.hidden, case.folder, str(work))
    by_helper = [[call("Read", file_path=f"{case.hidden}/answer.txt")], [found["printed"]], "told"]
    output = [[call("wait", seconds=1)], [call("bash_output", bash_id="1")]]

    def reply(request: Request) -> Any:
        if "You are a helper" in request.messages[0].text:
            return by_helper[sum(message.role is Role.ASSISTANT for message in request.messages)]
        asked = max(number for number, message in enumerate(request.messages) if message.text in found)
        done = sum(message.role is Role.ASSISTANT for message in request.messages[asked:])
        way = request.messages[asked].text
        if done and "background" in way and not any("tried" in one.text for one in request.messages[asked + 2 :]):
            return output[done % 2]
        return [found[way]] if not done else "done"

    model = ScriptedModel([reply] * 400)
    given: dict[str, list[str]] = {}

    async def script(driver: Driver) -> None:
        for way in found:  # a turn each: a run ends where the same is refused again and again
            before, asked = len(driver.of(p.ToolFinished)), len(model.requests)
            await driver.turn(way)
            given[way] = [one.content for one in driver.of(p.ToolFinished)[before:]]
            given[way] += [one.messages[-1].text for one in model.requests[asked:]]  # a helper's too

    settings = {
        **PLAIN.settings,
        **{f"mcp.servers.spy.{key}": value for key, value in {"command": "python3", "args": ("spy.py",)}.items()},
    }
    hidden = (case.folder, os.path.dirname(case.folder))
    drive(work, script, model, axes=AXES, surface=Surface.HEADLESS, hidden=hidden, settings=settings)
    assert all(CANARY not in str(request) for request in model.requests)
    assert "tried" in str(given["by code in the background"]) and "rmission denied" in str(given["by an MCP server"])
    _reached.update(given)
    return _reached


@pytest.mark.parametrize("way", WAYS)
def test_hidden_answers_are_out_of_reach(reached: dict[str, list[str]], way: str) -> None:
    given = reached[way]
    assert len(given) > 1 and not any(CANARY in text for text in given), given


def test_there_are_more_than_twenty_ways() -> None:
    assert len(WAYS) > 20


def test_answers_are_hidden_also_where_every_command_may_look(repo: Path, tmp_path: Path) -> None:
    """What ships lies in folders that the sandbox shows, as /usr: there they are covered."""
    case = make_case(tmp_path / "shown/skill")
    arm = TrialArm("with", {**PLAIN.settings, "sandbox.show": (str(tmp_path / "shown"),)})
    answer = f"{case.hidden}/answer.txt"
    said: list[str] = []

    def look(request: object) -> str:
        said.append(str(request))
        return "done"

    replies = [[call("bash", command=f"ls {tmp_path}/shown; cat {answer}")], [call("Read", file_path=answer)], look]
    tried(repo, case, ScriptedModel(replies), arm)
    assert "skill" in said[0] and CANARY not in said[0]


def test_a_grader_gets_the_answer_the_trace_and_the_hidden_files(repo: Path, tmp_path: Path) -> None:
    grader = (
        "#!/bin/sh\ngrep -q canary hidden/answer.txt && grep -q 'all done' answer.json && "
        "grep -q '\"tool_finished\"' trace.jsonl && test -f work/new.txt\n"
    )
    case = make_case(tmp_path / "skill", grader)
    model = ScriptedModel([[call("Write", file_path="new.txt", content="n")], "all done"])
    result = tried(repo, case, model)
    assert (result.verdict, result.workspace, result.requests, result.calls) == (TrialVerdict.PASSED, "", 2, 1)
    assert result.usage.input_tokens == 20


GRADERS = {
    "hangs": ("#!/bin/sh\nsleep 600\n", TrialVerdict.UNGRADED, "took more than 1 s"),
    "floods": ("#!/bin/sh\nhead -c 30000000 /dev/zero | tr '\\0' x\nexit 3\n", TrialVerdict.FAILED, "xxx"),
    "lies": (
        '#!/bin/sh\necho \'{"passed": true, "reason": "all is well"}\'\nexit 1\n',
        TrialVerdict.FAILED,
        "all is well",
    ),
    "is killed": ("#!/bin/sh\nkill -9 $$\n", TrialVerdict.UNGRADED, "could not be run or was killed"),
    "cannot start": ("#!/no/such/program\n", TrialVerdict.UNGRADED, ""),
}


@pytest.mark.parametrize("kind", GRADERS)
def test_a_grader_that_hangs_floods_or_lies_is_contained(repo: Path, tmp_path: Path, kind: str) -> None:
    text, verdict, reason = GRADERS[kind]
    result = tried(
        repo,
        make_case(tmp_path / "skill", text),
        ScriptedModel(["done"]),
        grader_seconds=1.0 if kind == "hangs" else 60.0,
    )
    assert result.verdict is verdict and reason in result.reason, result
    assert len(result.reason) <= 600
    assert Path(result.workspace, "a.txt").exists()  # kept


def test_a_grader_reaches_nothing_but_its_own_copy(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "home/secret.txt").write_text("not-yours")
    grader = f"""#!/bin/sh
cat {tmp_path}/home/secret.txt && exit 9
echo changed >> {tmp_path}/skill/evals/case-1/work/a.txt
echo changed >> work/a.txt
(exec 3<>/dev/tcp/127.0.0.1/9) 2>/dev/null && exit 8
exit 1
"""
    result = tried(repo, make_case(tmp_path / "skill", grader), ScriptedModel(["done"]))
    assert result.verdict is TrialVerdict.FAILED, result
    assert Path(result.workspace, "a.txt").read_text() == "a\n"
    assert (tmp_path / "skill/evals/case-1/work/a.txt").read_text() == "a\n"


def test_a_skill_is_tried_with_and_without_and_the_page_has_the_result(repo: Path, tmp_path: Path) -> None:
    place = write_skill(tmp_path, "tea", body="Write tea.txt.")
    make_case(place, "#!/bin/sh\ntest -f work/tea.txt\n")
    (place / "evals/case-1/task.md").write_text("Make <b>tea</b>.")
    skill = at_path(str(place / "SKILL.md"))
    model = ScriptedModel([lambda request: _brew(str(request)), "done", lambda request: _brew(str(request)), "done"])
    places = locate(str(repo))
    runner = trial_runner(places, config.load(places))
    assert runner
    tried_arms = [
        TrialArm(arm.name, {**PLAIN.settings, **arm.settings}, arm.prefix, arm.shown)
        for arm in arms(skill, by_model=False, both=True)
    ]
    report = asyncio.run(
        run_evals("tea", eval_cases(skill), tried_arms, 1, runner, "script", offline=False, model=model)
    )
    assert [(one.arm, one.verdict) for one in report.trials] == [
        ("with", TrialVerdict.PASSED),
        ("without", TrialVerdict.FAILED),
    ]
    assert report.passed
    written = page(report)
    assert "with the skill: 1/1" in written and "without the skill: 0/1" in written and "default-src 'none'" in written


def _brew(asked: str) -> object:
    return [call("Write", file_path="tea.txt", content="tea")] if "Write tea.txt." in asked else "what is tea?"


def test_without_a_model_only_lines_are_tried_and_the_rest_says_so(repo: Path, tmp_path: Path) -> None:
    place = write_skill(tmp_path, "tea")
    make_case(place)
    (place / "evals/case-1/task.md").write_text("---\nneeds: model\n---\nMake tea.")
    skill = at_path(str(place / "SKILL.md"))
    places = locate(str(repo))
    runner = trial_runner(places, config.load(places))
    assert runner
    chosen = arms(skill, by_model=False, both=True)
    report = asyncio.run(run_evals("tea", eval_cases(skill), chosen, 3, runner, "builtin", offline=True))
    assert report.trials == () and report.skipped[0][0] == "case-1" and "needs a model" in report.skipped[0][1]


def test_rates_have_wilsons_interval() -> None:
    def results(passed: int, failed: int) -> list[TrialResult]:
        kinds = [TrialVerdict.PASSED] * passed + [TrialVerdict.FAILED] * failed + [TrialVerdict.UNGRADED]
        return [TrialResult("c", "with", 1, kind) for kind in kinds]

    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0) == (0.0, 1.0)
    rate = pass_rate(results(3, 0))
    assert (rate.passed, rate.graded, rate.high) == (3, 3, 1.0) and round(rate.low, 4) == 0.4385
    assert str(pass_rate(results(0, 3))) == "0/3 (0% to 56%)"


def test_the_answer_is_json_that_a_grader_can_read(repo: Path, tmp_path: Path) -> None:
    case = make_case(tmp_path / "skill", "#!/bin/sh\nexit 1\n")
    result = tried(repo, case, ScriptedModel(["the answer"]))
    kept = Path(result.workspace).parent
    assert json.loads((kept / "answer.json").read_text())["answer"] == "the answer"
    assert not (kept / "graded").exists()
