"""Suites and their tasks: the one that ships, and what is said of pages that cannot be used."""

from collections import Counter
from pathlib import Path

import pytest

from quintet.domain.base.errors import UsageError
from quintet.features.evals.scripted import does, rate_of
from quintet.features.evals.tasks import chosen, find_suite, laid_out, read_suite, suites

GOOD = 'request = "do it"\n[[checks]]\nfile = "a"\ntext = "b"\n'


def test_the_suite_that_ships_has_thirty_tasks_of_five_kinds(private: None) -> None:
    (suite,) = suites()
    kinds = Counter(task.page.kind for task in suite.tasks)
    assert (suite.name, sum(kinds.values())) == ("basics", 30)
    assert kinds == {"python": 8, "javascript": 6, "shell": 6, "docs": 5, "git": 5}
    assert sum(task.page.rules for task in suite.tasks) == 6
    assert all(task.page.solution.files or task.page.solution.run for task in suite.tasks)


def test_nothing_of_a_task_but_its_request_and_files_is_laid_out(private: None, tmp_path: Path) -> None:
    suite = find_suite("basics")
    task = next(one for one in suite.tasks if one.name == "merge-conflict")
    case = laid_out(task, str(tmp_path / "cases"))
    assert [path.name for path in Path(case.work).iterdir()] == ["menu.txt"]
    assert suite.folder.startswith(case.sealed[0]) and case.task == task.page.request.strip()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("request = 1", "Expected `str`"),
        ('request = "x"\nchecks = []', "it has no checks"),
        (GOOD.replace('text = "b"', ""), "say what it has to hold"),
        (GOOD + 'output = "x"\nnonsense = 1', "nonsense"),
        ("request = ", "Invalid value"),
        ('files."../a" = ""\n' + GOOD, "relative paths"),
    ],
)
def test_a_page_that_cannot_be_used_is_named_with_its_reason(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(UsageError) as raised:
        read_suite(str(tmp_path), "suite")
    assert str(tmp_path / "bad.toml") in raised.value.message and why in raised.value.message


def test_what_is_not_there_is_said_with_the_nearest(private: None, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean basics"):
        find_suite("basic")
    suite = find_suite("basics")
    with pytest.raises(UsageError, match=r"no task slugfy\. Did you mean slugify"):
        chosen(suite, ["slugfy"], [])
    with pytest.raises(UsageError, match="no kind rust"):
        chosen(suite, [], ["rust"])
    (tmp_path / "a").mkdir()
    for name in ("x.toml", "a/x.toml"):
        (tmp_path / name).write_text(GOOD)
    with pytest.raises(UsageError, match="two tasks are named x"):
        read_suite(str(tmp_path), "suite")


def test_the_scripted_models_rate_is_what_it_says_and_the_same_for_a_seed() -> None:
    drawn = [does(7, f"task-{number}", "script:0.3", 1, 0.3) for number in range(2000)]
    assert 0.27 < sum(drawn) / len(drawn) < 0.33
    assert drawn == [does(7, f"task-{number}", "script:0.3", 1, 0.3) for number in range(2000)]
    assert drawn != [does(8, f"task-{number}", "script:0.3", 1, 0.3) for number in range(2000)]
    assert [rate_of(name) for name in ("script", "script:0.3", "scripted", "gpt")] == [1.0, 0.3, None, None]
    for wrong in ("script:2", "script:x"):
        with pytest.raises(UsageError, match="from 0 to 1"):
            rate_of(wrong)
