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
    (listed,) = quintet.run("rules", "list", "--json").clean(0).json()
    assert listed == {**made, "last_used": "", "used": 0}
    row = quintet.run("rules", "list").clean(0).out.splitlines()[1]
    assert row.split() == [made["id"], "allow", "bash", *f"{TEST}*".split(), "build", str(quintet.root), "never"]
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
        (("add", "perhaps", "bash"), 2, 'verdict "perhaps": not one of allow, deny.'),
        (("add", "allow", "bsh"), 2, "there is no tool bsh. Did you mean bash?"),
        (
            ("add", "allow", "bash", "make*"),
            2,
            "an allow rule must name its effects, for example --effects build,network",
        ),
        (("add", "allow", "bash", "make*", "--effects", "bild"), 2, "Did you mean build?"),
        (("add", "allow", "bash", "rm*", "--effects", "destroy"), 2, "one exact line or --prefix WORDS"),
        (("add", "allow", "*", "rm x", "--effects", "destroy"), 2, "a rule with destroy must name one tool"),
        (("add", "allow", "bash", "x", "--effects", "outside"), 2, "outside always needs approval; no rule can allow"),
        (("add", "allow", "bash", "x", "--effects", "publish"), 2, "publish always needs approval; no rule can allow"),
        (("add", "allow", "bash", "--prefix", "git", "--effects", "commit"), 2, "`git` cannot be a prefix"),
        (("add", "allow", "bash", "--prefix", "npm", "--effects", "build"), 2, "`npm` cannot be a prefix"),
        (("add", "allow", "bash", "x", "--prefix", "pytest", "--effects", "build"), 2, "instead of a pattern"),
        (("add", "deny", "bash", "--prefix", "pytest"), 2, "--prefix is for `allow bash`"),
        (("show", "rule-x"), 1, 'there is no rule that begins with "rule-x"'),
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
    assert str(rules_file()) in done.err and "Fix or delete it" in done.err
    assert rules_file().read_text() == "[{"


def test_a_person_says_always_and_is_not_asked_again(quintet: Program, model: Model) -> None:
    model(call("bash", command=TEST), Reply(text="one"), call("bash", command=TEST), Reply(text="two"))
    terminal = quintet.plain(*BUILD)
    terminal.types("test it")
    terminal.sees(f"Run: {TEST}?", "Always     in this project, until you run `quintet rules revoke`")
    terminal.sees("[y] yes   [s] yes, for this session   [a] always in this project: this line")
    terminal.sees("[t] continue in profile trusted   [n] no   [e] no, with feedback")
    terminal.types("a")
    terminal.sees(f"rule     allow bash {TEST} (build) · quintet rules revoke rule-", "one", "› ")
    terminal.types("test it again")
    assert "[y]" not in terminal.sees("two", "› ")


def test_a_prefix_is_added_explained_used_and_revoked(quintet: Program, model: Model) -> None:
    add = ("rules", "add", "allow", "bash", "--prefix", "make test", "--effects", "build", "--reason", "often")
    rule = quintet.run(*add).clean(0).out.strip()
    assert permitted(quintet, "make test -k") == ("allow", rule)
    assert permitted(quintet, "make test all") == ("ask", "")
    said = quintet.run("rules", "show", rule).clean(0).out
    assert f"{rule}  allow bash make test … (build)" in said and "never in this project" in said
    assert "begins with `make test`" in said and "often" in said and f"quintet rules revoke {rule}" in said
    model(call("bash", command="make test"), Reply(text="ok"))
    quintet.run("-p", "go", *BUILD)
    (listed,) = quintet.run("rules", "list", "--json").clean(0).json()
    assert listed["used"] == 1 and listed["last_used"] > listed["created"]
    assert "(1 time in this project)" in quintet.run("rules", "show", rule[:8]).clean(0).out
    assert quintet.run("rules", "revoke", rule).clean(0).out == f"revoked {rule}: allow bash make test … (build)\n"
    assert permitted(quintet, "make test") == ("ask", "")


def test_what_cannot_be_taken_back_may_be_a_rule_for_that_line(quintet: Program) -> None:
    rule = quintet.run("rules", "add", "allow", "bash", "shred x", "--effects", "destroy").clean(0).out.strip()
    assert permitted(quintet, "shred x") == ("allow", rule)
    assert permitted(quintet, "shred y") == ("ask", "")


def test_rules_of_a_session_are_listed_and_revoked_one_by_one(quintet: Program, model: Model) -> None:
    model(call("bash", command=TEST), Reply(text="one"))
    terminal = quintet.plain(*BUILD)
    terminal.types("test it")
    terminal.sees("[s] yes, for this session")
    terminal.types("s")
    terminal.sees(f"rule     allow bash {TEST} (build) · for this session", "one", "› ")
    terminal.types("/quit")
    assert quintet.run("rules", "list", "--json").clean(0).json() == []
    (held,) = quintet.run("rules", "list", "--session", "--json").clean(0).json()
    assert held["session"].startswith("q5-") and held["pattern"] == TEST
    assert held["session"] in quintet.run("rules", "show", held["id"]).clean(0).out
    assert permitted(quintet, TEST) == ("ask", "")
    revoked = f"revoked {held['id']}: allow bash {TEST} (build)\n"
    assert quintet.run("rules", "revoke", held["id"]).clean(0).out == revoked
    assert quintet.run("rules", "list", "--session", "--json").clean(0).json() == []
    assert "there is no rule" in quintet.run("rules", "revoke", held["id"]).clean(1).err


def test_rules_of_the_version_before_are_read(quintet: Program) -> None:
    rules_file().parent.mkdir(parents=True)
    rules_file().write_text(
        '[{"id": "rule-1", "verdict": "allow", "tool": "bash", "pattern": "make all", "effects": ["build"], '
        f'"project": "{quintet.root}", "created": "2026-01-01T00:00:00Z"}}]'
    )
    assert permitted(quintet, "make all") == ("allow", "rule-1")


def test_a_refused_line_gives_its_reason_once(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types("! cat .env")
    terminal.confirms("s")
    said = terminal.sees("blocked", "› ")
    assert said.count("it may contain secrets") == 1
    terminal.types("! shred -u tally/count.py")
    terminal.confirms("s")
    terminal.sees("[n] no")
    terminal.types("n")
    assert terminal.sees("blocked", "› ").count("the user said no") == 1
