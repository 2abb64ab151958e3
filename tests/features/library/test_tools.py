"""The librarian: what the user's documents say, as JSON with the document and page that says it."""

import json
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.features.library.fill import fill
from quintet.features.library.store import LibraryStore
from tests.documents import pdf
from tests.tools.calling import Caller

WHALES = ["Whales are mammals of the sea. " + "They breathe air. " * 200, "Their songs carry over miles."]


def put(root: Path, folder: Path, name: str, data: bytes) -> None:
    """A document into a project's library."""
    (folder / name).write_bytes(data)
    store = LibraryStore(locate(str(root)).library)
    outcome = fill(store, str(folder / name), PROTECTION, lambda: "2026-01-01T00:00:00.000Z", lambda *_: None)
    store.close()
    assert outcome.state == "added", outcome


@pytest.fixture
def filled(repo: Path, tmp_path: Path) -> Caller:
    put(repo, tmp_path, "whales.pdf", pdf([page[:400] for page in WHALES], "On Whales"))
    put(repo, tmp_path, "boats.md", b"# Boats\n\nA boat floats on the sea.\n")
    return Caller(repo)


def told(tools: Caller, tool: str, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(tools.ok(tool, **arguments))
    assert {"answer", "citations", "excerpts", "actions_taken"} <= set(answer)
    return answer


def test_pages_are_found_with_the_document_and_page_that_say_it(filled: Caller) -> None:
    for tool, arguments in (("librarian_search", {}), ("librarian", {"action": "search"})):
        answer = told(filled, tool, query="song of whales", **arguments)
        assert answer["citations"] == [{"document": 1, "title": "On Whales", "page": page} for page in (2, 1)]
        assert answer["excerpts"][0]["text"] == WHALES[1]
        assert answer["actions_taken"] == ["searched for song of whales"]
    only = told(filled, "librarian_search", query="sea", source_type="markdown")
    assert [place["title"] for place in only["citations"]] == ["Boats"]
    assert len(told(filled, "librarian_search", query="sea", limit=1)["excerpts"]) == 1
    assert "No page" in told(filled, "librarian_search", query="volcano")["answer"]


def test_documents_are_listed_read_and_set_aside(filled: Caller) -> None:
    listed = told(filled, "librarian", action="list")["documents"]
    assert [(one["id"], one["title"], one["pages"]) for one in listed] == [(1, "On Whales", 2), (2, "Boats", 1)]
    page = told(filled, "librarian", action="get_content", document_id="1", page=2)
    assert page["excerpts"] == [{"document": 1, "title": "On Whales", "page": 2, "text": WHALES[1]}]
    assert told(filled, "librarian", action="deactivate", document_id="whales")["documents"][0]["active"] is False
    assert told(filled, "librarian_search", query="whales")["excerpts"] == []
    assert told(filled, "librarian", action="status")["status"]["active"] == 1
    told(filled, "librarian", action="activate", document_id="1")
    assert told(filled, "librarian_search", query="whales")["excerpts"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"action": "search"}, "expected a query"),
        ({"action": "search", "query": "?!"}, "no letter and no digit"),
        ({"action": "search", "query": "x", "top_k": 0}, "1 to 50"),
        ({"action": "get_content"}, "needs a document_id"),
        ({"action": "get_content", "document_id": "dolphins"}, '"dolphins" does not match exactly one document'),
        ({"action": "get_content", "document_id": "1", "page": 9}, "has no page 9; it has 2"),
        ({"action": "burn"}, "burn"),
    ],
)
def test_what_cannot_be_done_says_why(filled: Caller, arguments: dict[str, Any], says: str) -> None:
    assert says in filled.fails("librarian", **arguments)


def test_an_empty_library_says_how_to_fill_it(tools: Caller) -> None:
    assert "quintet library add" in told(tools, "librarian", action="list")["answer"]
    assert "quintet library add" in told(tools, "librarian_search", query="x")["answer"]
