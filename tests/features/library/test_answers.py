"""The librarian's answers: made from the passages that were found, with citations that are checked."""

import json
from pathlib import Path

import pytest

from quintet.domain.base.errors import ModelUnreachable
from quintet.domain.turn.messages import Request
from quintet.testing import ScriptedModel
from tests.documents import pdf
from tests.features.library.test_tools import put
from tests.tools.calling import Caller


@pytest.fixture
def shelf(repo: Path, tmp_path: Path) -> Path:
    put(repo, tmp_path, "whales.pdf", pdf(["Whales are mammals.", "Whales sing. " * 30], "On Whales"))
    return repo


def test_an_answer_is_made_from_the_passages_and_its_citations_are_checked(shelf: Path) -> None:
    model = ScriptedModel(["They sing [1, p. 2], for they are mammals [1, p. 1] and not fish [4, p. 9]."])
    result = Caller(shelf, model=model)("librarian", action="answer", query="Do whales sing?")
    told = json.loads(result.content)
    assert told["citations"] == [{"document": 1, "title": "On Whales", "page": page} for page in (2, 1)]
    assert "It also cites [4, p. 9], which was not among the passages" in told["answer"]
    assert told["actions_taken"] == ["searched for Do whales sing?", "asked builtin with 2 passages"]
    assert [one.route for one in result.consulted] == ["smart"]
    (request,) = model.requests
    page, question = (message.text for message in request.messages)
    assert "from nothing else" in page
    assert question.startswith("Question: Do whales sing?\n\nPassages:\n\n[1, p. ")
    assert "[1, p. 1] On Whales\nWhales are mammals." in question


def test_an_answer_without_a_model_is_the_passages_said_as_such(shelf: Path) -> None:
    told = json.loads(Caller(shelf).ok("librarian", action="answer", query="Do whales sing?"))
    assert told["answer"].startswith("No language model is configured: these are the passages that match best")
    assert [place["page"] for place in told["citations"]] == [2, 1]
    down = ModelUnreachable("nobody there")
    down.retryable = False
    failing = Caller(shelf, model=ScriptedModel([down]))
    told = json.loads(failing.ok("librarian", action="answer", query="Do whales sing?"))
    assert told["answer"].startswith("No model answered (builtin did not answer: nobody there)")
    assert len(told["excerpts"]) == 2


def test_an_answer_that_cites_nothing_is_said_to_and_nothing_found_asks_nobody(shelf: Path) -> None:
    def unasked(request: Request) -> str:
        raise AssertionError(request)

    tools = Caller(shelf, model=ScriptedModel(["I do not know.", unasked]))
    told = json.loads(tools.ok("librarian", action="answer", query="whales"))
    assert (told["citations"], told["answer"]) == ([], "I do not know.\n(It cites no passage.)")
    assert "No page" in json.loads(tools.ok("librarian", action="answer", query="volcano"))["answer"]
