"""`quintet rules`, and the answer that makes one, at a real terminal."""

import os
from pathlib import Path

import pytest

from tests.adapters.model_server import Reply
from tests.surfaces.program import BUILD, Model, Program, call

TEST = "python3 -m unittest"


def rules_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"], "quintet", "rules.json")


def permitted(quintet: Program, line: str) -> tuple[str, str]:
    answer = quintet.run("permit", "--tool", "bash", "--args", f'{{"command": "{line}"}}', *BUILD, "--json")
    decided = answer.clean(0).json()
    return decided["decision"], decided["rule"]


def test_without_rules_the_list_says_how_one_is_made(quintet: Program) -> None:
    assert "no rules yet" in quintet.run("rules", "list").clean(0).out
    assert quintet.run("rules", "list", "--json").clean(0).json() == []


def test_a_rule_is_added_listed_held_and_revoked(quintet: Program) -> None:
    assert permitted(quintet, TEST) == ("ask", "")
    made = quintet.run("rules", "add", "allow", "bash", f"{TEST}*", "--effects", "build", "--json").clean(0).json()
    assert (made["verdict"], made["tool"], made["pattern"], made["effects"]) == (
        "allow",
        "bash",
        f"{TEST}*",
        ["build"],
    )
    assert made["project"] == str(quintet.root)
    assert permitted(quintet, f"{TEST} -v") == ("allow", made["id"])
    assert quintet.run("rules", "list", "--json").clean(0).json() == [made]
    row = quintet.run("rules", "list").clean(0).out.splitlines()[1]
    assert row.split() == [made["id"], "allow", "bash", *f"{TEST}*".split(), "build", str(quintet.root)]
    said = quintet.run("rules", "revoke", made["id"]).clean(0).out
    assert said == f"revoked {made['id']}: allow bash {TEST}* (build)\n"
    assert permitted(quintet, TEST) == ("ask", "")


def test_a_rule_holds_here_or_everywhere(quintet: Program, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    here = quintet.run("rules", "add", "deny", "bash", "ls *").clean(0).out.strip()
    assert permitted(quintet, "ls tally") == ("deny", here)
    assert permitted(Program(other), "ls tally") == ("allow", "")
    everywhere = quintet.run("rules", "add", "deny", "*", "ls *", "--everywhere", "--json").clean(0).json()
    assert everywhere["project"] == ""
    assert permitted(Program(other), "ls tally") == ("deny", everywhere["id"])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("add",), 2, "required: verdict, tool"),
        (("add", "perhaps", "bash"), 2, "invalid choice: 'perhaps'"),
        (("add", "allow", "bsh"), 2, "there is no tool bsh. Did you mean bash?"),
        (("add", "allow", "bash", "make*"), 2, "an allow rule names what it lifts: --effects build,network"),
        (("add", "allow", "bash", "make*", "--effects", "bild"), 2, "Did you mean build?"),
        (("add", "allow", "bash", "rm*", "--effects", "destroy"), 2, "destroy always asks; no rule can lift that"),
        (("revoke", "rule-x"), 1, 'there is no rule that begins with "rule-x"'),
        (("revoke", ""), 1, 'there is no rule that begins with ""'),
        (("revoke",), 2, "required: id"),
    ],
)
def test_bad_input_is_said_and_changes_nothing(quintet: Program, words: tuple[str, ...], code: int, said: str) -> None:
    quintet.run("rules", "add", "deny", "bash", "ls").clean(0)
    before = rules_file().read_text()
    assert said in quintet.run("rules", *words).clean(code).err
    assert rules_file().read_text() == before


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("add", "deny", "bash"), ("revoke", "rule-1")])
def test_a_broken_rules_file_is_named_and_left_as_it_is(quintet: Program, words: tuple[str, ...]) -> None:
    rules_file().parent.mkdir(parents=True)
    rules_file().write_text("[{")
    done = quintet.run("rules", *words)
    assert done.code in (1, 2) and "Traceback" not in done.err
    assert str(rules_file()) in done.err and "Mend or delete it" in done.err
    assert rules_file().read_text() == "[{"


def test_a_person_says_always_and_is_not_asked_again(quintet: Program, model: Model) -> None:
    model(call("bash", command=TEST), Reply(text="one"), call("bash", command=TEST), Reply(text="two"))
    terminal = quintet.plain(*BUILD)
    terminal.types("test it")
    terminal.sees(f"Run: {TEST}?", "Always     in this project, until `quintet rules revoke`")
    terminal.sees("[y] once   [a] always here   [n] no")
    terminal.types("a")
    terminal.sees(f"rule     allow bash {TEST} (build) · quintet rules revoke rule-", "one", "› ")
    terminal.types("test it again")
    assert "[y]" not in terminal.sees("two", "› ")


def test_a_refused_line_gives_its_reason_once(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types("! cat .env")
    said = terminal.sees("blocked", "› ")
    assert said.count("it may hold secrets") == 1
    terminal.types("! shred -u tally/count.py")
    terminal.sees("[n] no")
    terminal.types("n")
    assert terminal.sees("blocked", "› ").count("the user said no") == 1
