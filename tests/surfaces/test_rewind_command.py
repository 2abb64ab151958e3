"""`quintet rewind`: the same as /rewind, from a shell."""

from pathlib import Path

from tests.surfaces.program import Program

WRITE = ("tools", "call", "Write", "--mode", "build", "--autonomous", "--permission-profile", "normal", "--args")


def test_turns_are_listed_previewed_and_taken_back(quintet: Program) -> None:
    quintet.run(*WRITE, '{"file_path": "new.txt", "content": "one\\ntwo\\n"}').clean(0)
    new = Path(quintet.root, "new.txt")
    (point,) = quintet.run("rewind", "--json").clean(0).json()["points"]
    assert (point["number"], point["files"], point["added"], point["kept"]) == (1, 1, 2, True)
    assert "1 file +2 −0" in quintet.run("rewind").clean(0).out
    for arguments in (("1",), ("1", "both", "--preview")):
        shown = quintet.run("rewind", *arguments).clean(0).out
        assert "remove  new.txt  +0 −2" in shown and new.exists()
    status = quintet.run("status", "--json").clean(0).json()
    assert status["checkpoint"] == {"enabled": True, "last": point["point"]}
    session = quintet.sessions()[0]["session"]
    done = quintet.run("rewind", session[:12], "1", "files", "--json").clean(0).json()["rewind"]
    assert done["restored"] == 1 and not new.exists()
    quintet.run("rewind", str(done["undo"]), "files").clean(0)
    assert new.read_text() == "one\ntwo\n"


def test_what_cannot_be_done_is_a_usage_error(quintet: Program) -> None:
    quintet.run("-p", "summarise the project").clean(0)
    assert "not one of 1 to 1" in quintet.run("rewind", "5").clean(2).err
    assert "takes one of files, conversation, both" in quintet.run("rewind", "1", "all").clean(2).err
