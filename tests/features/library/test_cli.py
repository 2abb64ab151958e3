"""`quintet library`: documents go in, are found again by their words, and come out; nothing is lost on the way."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from tests.documents import epub, packed, pdf, rewritten, without_page_two
from tests.embedding_server import embedding
from tests.surfaces.program import PROGRAM, Program

WHALES = ["Whales are mammals of the sea.", "Their songs carry far; a singing whale is heard over miles."]


@pytest.fixture
def shelf(quintet: Program, tmp_path: Path) -> Path:
    """Documents outside the project."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "whales.pdf").write_bytes(pdf(WHALES, "On Whales"))
    epub(folder / "ships.epub", ["<h1>Ships</h1><p>A ship is a big boat.</p>"], "Of Ships")
    (folder / "notes.md").write_text("# Notes\n\nA boat sang.\n")
    return folder


def add(quintet: Program, *paths: Path, code: int = 0) -> list[dict[str, Any]]:
    outcomes: list[dict[str, Any]] = quintet.run("library", "add", "--json", *map(str, paths)).clean(code).json()
    return outcomes


def found(quintet: Program, *words: str) -> list[tuple[str, int]]:
    told = quintet.run("library", "search", "--json", *words).clean(0).json()
    return [(passage["title"], passage["page"]) for passage in told["passages"]]


def test_documents_go_in_and_are_found_by_their_words(quintet: Program, shelf: Path) -> None:
    done = quintet.run("library", "add", str(shelf)).clean(0)
    assert [line.split() for line in done.out.splitlines()] == [
        ["added", "1", "markdown", "1", "page", "Notes"],
        ["added", "2", "epub", "1", "page", "Of", "Ships"],
        ["added", "3", "pdf", "2", "pages", "On", "Whales"],
        ["3", "added"],
    ]
    assert done.err == ""
    assert found(quintet, "whale") == [("On Whales", 1), ("On Whales", 2)]
    assert found(quintet, "song", "miles") == [("On Whales", 2)]
    assert found(quintet, "boat") == [("Notes", 1), ("Of Ships", 1)]
    assert found(quintet, "boat", "--type", "epub") == [("Of Ships", 1)]
    assert found(quintet, "the boat of a whale") == [("Notes", 1), ("On Whales", 1), ("Of Ships", 1), ("On Whales", 2)]
    shown = quintet.run("library", "search", "singing whale").clean(0).out.splitlines()
    assert shown[:2] == ["3  p. 2  On Whales", f"    {WHALES[1]}"]
    assert quintet.run("library", "search", "xyzzy").clean(0).out == "no page contains xyzzy\n"


def test_a_document_is_listed_shown_and_taken_out(quintet: Program, shelf: Path) -> None:
    add(quintet, shelf)
    heading, *rows = quintet.run("library", "list").clean(0).out.splitlines()
    assert heading.split()[:4] == ["ID", "FORMAT", "PAGES", "WORDS"]
    assert len(rows) == 3
    assert quintet.run("library", "show", "whales", "--page", "2").clean(0).out == f"{WHALES[1]}\n"
    assert "has no page 3; it has 2" in quintet.run("library", "show", "3", "--page", "3").clean(1).err
    assert "from      " + str(shelf / "whales.pdf") in quintet.run("library", "show", "3").clean(0).out
    assert "does not match exactly one document" in quintet.run("library", "show", "dolphins").clean(1).err
    assert quintet.run("library", "remove", "On Whales").clean(0).out == "removed 3  On Whales\n"
    assert found(quintet, "whale") == []
    assert (shelf / "whales.pdf").exists()
    status = quintet.run("library", "status", "--json").clean(0).json()
    assert (status["documents"], status["pages"], status["embeddings"]) == (2, 2, "")


def test_a_deactivated_document_is_kept_and_not_searched(quintet: Program, shelf: Path) -> None:
    add(quintet, shelf)
    quintet.run("library", "deactivate", "On Whales").clean(0)
    assert found(quintet, "whale") == []
    (shelf / "whales.pdf").write_bytes(pdf(["Other whales."], "On Whales"))
    (outcome,) = add(quintet, shelf / "whales.pdf")
    assert (outcome["state"], outcome["document"]["active"]) == ("updated", False)
    quintet.run("library", "activate", "On Whales").clean(0)
    assert found(quintet, "whale") == [("On Whales", 1)]


def test_what_has_not_changed_is_left_as_it_is(quintet: Program, shelf: Path, tmp_path: Path) -> None:
    before = [outcome["document"] for outcome in add(quintet, shelf)]
    again = add(quintet, shelf)
    assert [outcome["state"] for outcome in again] == ["unchanged"] * 3
    assert [outcome["document"] for outcome in again] == before
    (tmp_path / "copy.pdf").write_bytes((shelf / "whales.pdf").read_bytes())
    (copied,) = add(quintet, tmp_path / "copy.pdf")
    assert (copied["state"], copied["document"]["id"]) == ("unchanged", 3)
    assert "the same as document 3" in copied["problem"]
    (shelf / "notes.md").write_text("# Notes\n\nNothing sang.\n")
    assert [outcome["state"] for outcome in add(quintet, shelf)] == ["updated", "unchanged", "unchanged"]
    assert found(quintet, "boat") == [("Of Ships", 1)]
    assert found(quintet, "nothing") == [("Notes", 1)]


def test_what_cannot_be_read_is_reported_by_name_and_the_rest_goes_in(quintet: Program, shelf: Path) -> None:
    (shelf / "broken.pdf").write_bytes(pdf(WHALES)[:70])
    (shelf / "locked.pdf").write_bytes(rewritten(pdf(WHALES), "password"))
    (shelf / "scanned.pdf").write_bytes(pdf([None, None]))
    (shelf / "torn.pdf").write_bytes(without_page_two(pdf(["text", "lost"])))
    packed(epub(shelf / "packed.epub", ["<p>lost</p>", "<p>kept</p>"]), method=99)
    packed(epub(shelf / "sealed.epub", ["<p>x</p>"]), flags=1)
    os.mkfifo(shelf / "pipe.txt")
    Path(os.fsdecode(os.fsencode(shelf) + b"/\xff.txt")).write_text("a name that is no text")
    (shelf / "half.pdf").write_bytes(pdf(["text", None]))
    done = quintet.run("library", "add", str(shelf), str(shelf / "pipe.txt")).clean(1)
    problems = {line.split(": ")[0].rpartition("/")[2]: line.split(": ", 1)[1] for line in done.err.splitlines()}
    assert problems["broken.pdf"].startswith("a PDF that cannot be read")
    assert problems["locked.pdf"] == "encrypted; a password is needed to read it"
    assert problems["scanned.pdf"].startswith("scanned: none of its 2 pages has text")
    assert problems["half.pdf"] == "1 of its 2 pages have no text (scanned, pictures, or broken)"
    assert problems["torn.pdf"] == problems["half.pdf"] == problems["packed.epub"]
    assert problems["sealed.epub"].startswith("encrypted")
    assert problems["pipe.txt"] == "not a file (a pipe, a device)"
    assert done.out.splitlines()[-1] == "8 added, 4 failed"
    assert [one["state"] for one in add(quintet, Path(os.fsdecode(os.fsencode(shelf) + b"/\xff.txt")))] == ["unchanged"]
    assert found(quintet, "whale") == [("On Whales", 1), ("On Whales", 2)]
    listed = {one["title"]: one["blank"] for one in quintet.run("library", "list", "--json").json()}
    blank = {"half": 1, "scanned": 2, "torn": 1, "A Book": 1}
    assert listed == {"Notes": 0, "Of Ships": 0, "On Whales": 0, "\\xff": 0, **blank}
    empty = quintet.run("library", "show", "half", "--page", "2").clean(0).out
    assert empty == "(this page has no text: it is scanned, or a picture)\n"


def test_a_secret_does_not_go_in(quintet: Program, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TOKEN=abc")
    assert "protected" in quintet.run("library", "add", str(tmp_path / ".env")).clean(1).err


def test_an_empty_library_says_how_to_fill_it(quintet: Program) -> None:
    assert "quintet library add" in quintet.run("library").clean(0).out
    assert "quintet library add" in quintet.run("library", "search", "x").clean(0).err
    assert quintet.run("library", "list", "--json").json() == []
    assert not Path(locate(str(quintet.root)).library).exists()
    assert "no document found" in quintet.run("library", "add", "tests").clean(2).err
    assert "Did you mean pdf?" in quintet.run("library", "search", "x", "--type", "pdff").clean(2).err


def test_at_a_terminal_adding_shows_how_far_it_is(quintet: Program, shelf: Path) -> None:
    (shelf / "long.pdf").write_bytes(pdf([f"page {number}" for number in range(400)]))
    terminal = quintet.plain(command=(*PROGRAM, "library", "add", str(shelf)))
    terminal.sees("░", "%", "added", "On Whales", "4 added")
    assert terminal.leaves()[0] == 0


def test_the_bar_stays_on_one_line_of_a_narrow_terminal(quintet: Program, tmp_path: Path) -> None:
    path = tmp_path / f"{'long-name-' * 8}.pdf"
    path.write_bytes(pdf([f"page {number}" for number in range(400)]))
    terminal = quintet.plain(command=(*PROGRAM, "library", "add", str(path)), columns=50)
    drawn = [line for line in terminal.sees("1 added").split("\r") if "░" in line]
    assert drawn and max(len(line.partition("\x1b")[0]) for line in drawn) < 50


def test_a_model_that_makes_vectors_finds_by_meaning_too(quintet: Program, shelf: Path) -> None:
    """The server's vectors have one number for each subject: what is said of it, in whatever words."""
    with embedding({"sea": ("sea", "whale", "ocean"), "boat": ("boat", "ship", "vessel")}) as server:
        quintet.settings(f'[models.vec]\nbase_url = "{server.url}"\nmodel = "tiny"\n[library]\nembeddings = "vec"\n')
        add(quintet, shelf)
        status = quintet.run("library", "status", "--json").json()
        assert (status["vectors"], status["embeddings"]) == (4, "vec")
        told = quintet.run("library", "search", "--json", "--limit", "2", "vessel").clean(0).json()
        assert told["by"] == "words and meaning"
        assert {passage["title"] for passage in told["passages"]} == {"Of Ships", "Notes"}
        asked = sum(len(request["input"]) for request in server.asked)
        add(quintet, shelf)
        assert sum(len(request["input"]) for request in server.asked) == asked  # nothing is new
        assert server.asked[0]["model"] == "tiny"
    down = quintet.run("library", "search", "--json", "boat").clean(0)
    assert "only by words" in down.err
    assert [passage["title"] for passage in json.loads(down.out)["passages"]] == ["Notes", "Of Ships"]
    (shelf / "more.txt").write_text("An ocean of ink.")
    done = quintet.run("library", "add", str(shelf)).clean(0)
    assert "found only by words, until" in done.err
    assert found(quintet, "ink") == [("more", 1)]


def test_the_model_that_makes_vectors_is_told_no_secret(quintet: Program, shelf: Path) -> None:
    secret = {"DEPLOY_TOKEN": "whale-of-a-token"}
    (shelf / "leak.txt").write_text("deploy with whale-of-a-token")
    with embedding({"sea": ("sea",)}) as server:
        quintet.settings(f'[models.vec]\nbase_url = "{server.url}"\nmodel = "tiny"\n[library]\nembeddings = "vec"\n')
        quintet.run("library", "add", str(shelf), **secret).clean(0)
        quintet.run("library", "search", "whale-of-a-token", **secret).clean(0)
        told = json.dumps(server.asked)
    assert "deploy with ****" in told and "whale-of-a-token" not in told


def test_the_model_of_vectors_has_to_be_configured(quintet: Program) -> None:
    quintet.settings('[library]\nembeddings = "vec"\n')
    assert 'library.embeddings = "vec": it is not in [models]' in quintet.run("library", "status").clean(2).err


def test_the_folder_may_stand_before_a_command_of_two_words(quintet: Program, shelf: Path) -> None:
    add(quintet, shelf)
    listed = quintet.run("-C", "tally", "library", "list", "--json").clean(0).json()
    assert [one["title"] for one in listed] == ["Notes", "Of Ships", "On Whales"]
    assert len(quintet.run("-C", "tally", "library", "--json").clean(0).json()) == 3


def test_the_librarian_needs_no_model(quintet: Program) -> None:
    told = quintet.run("tools", "doctor", "--json").clean(0).json()
    assert {tool["name"]: tool["needs"] for tool in told["tools"]}["librarian"] == []
