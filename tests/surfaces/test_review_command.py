"""/review at the surfaces: the report is what is printed, never the form the model gave it in."""

import json
from pathlib import Path

from tests.adapters.model_server import Reply
from tests.engine.planted import DEFECTS, findings, fingerprint, line_of, plant
from tests.surfaces.program import Model, Program, call

EVERYTHING = "\n".join(words for _, words, _ in DEFECTS)
REPORT = json.dumps({"summary": "Not yet.", "findings": findings(EVERYTHING), "not_looked_at": []})
REPLIES = (call("git_diff_unstaged"), Reply(text=REPORT), Reply(text="DONE"))


def test_headless_prints_the_report_in_markdown(quintet: Program, model: Model) -> None:
    plant(quintet.root)
    model(*REPLIES)
    before = fingerprint(quintet.root)
    done = quintet.run("-p", "/review").clean(0)
    assert done.out.startswith("# Review of working-tree\n\nNot yet.\n")
    for file, words, severity in DEFECTS:
        assert f"| {severity} | {file}:{line_of(file, words)} |" in done.out
    assert '"summary"' not in done.out
    (event,) = quintet.events("report_made")
    assert Path(event["path"]).read_text() == done.out and event["path"] in done.err
    assert fingerprint(quintet.root) == before


def test_headless_json_has_the_report_as_its_answer(quintet: Program, model: Model) -> None:
    plant(quintet.root)
    model(*REPLIES)
    result = quintet.run("-p", "/review", "--output-format", "json").clean(0).json()
    assert (result["status"], result["delivery_state"]) == ("done", "")
    assert result["answer"].startswith("# Review of working-tree")
    assert result["axes"]["work_mode"] == "review" and Path(result["report"]).exists()


def test_a_subject_that_is_none_is_a_usage_error(quintet: Program, model: Model) -> None:
    served = model(*REPLIES)
    done = quintet.run("-p", "/review nowhere..main").clean(2)
    assert done.out == ""
    assert '"nowhere" is not a branch, tag or commit of this repository' in done.err
    assert served.said == []


def test_a_piped_session_waits_for_the_report_and_shows_no_json(quintet: Program, model: Model) -> None:
    plant(quintet.root)
    model(*REPLIES)
    done = quintet.run("--plain", stdin="/review\n").clean(0)
    assert "# Review of working-tree" in done.out
    assert "review of working-tree   3 high · 1 medium · 1 low" in done.out
    assert '"summary"' not in done.out
