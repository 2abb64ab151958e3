"""What is looked for in the library, how two rankings become one, and which citations hold."""

import pytest

from quintet.domain.base.errors import UsageError
from quintet.features.library.passages import Document, checked_citations, chosen, fused, match_query


@pytest.mark.parametrize(
    ("text", "every", "any_of"),
    [
        ("whale ship", '"whale" AND "ship"', '"whale" OR "ship"'),
        ("What is the whale?", '"whale"', '"whale"'),
        ('"white whale" sea*', '"white whale" AND "sea"*', '"white whale" OR "sea"*'),
        ("snake-case NEAR(x) a:b", '"snake case" AND "NEAR x" AND "a b"', '"snake case" OR "NEAR x" OR "a b"'),
        ("who is it", '"who" AND "is" AND "it"', '"who" OR "is" OR "it"'),
        ("ship ship", '"ship"', '"ship"'),
    ],
)
def test_a_query_is_words_whatever_is_in_it(text: str, every: str, any_of: str) -> None:
    assert match_query(text) == (every, any_of)


def test_a_query_without_words_is_said() -> None:
    with pytest.raises(UsageError, match="no letter and no digit"):
        match_query('--- "?"')


def test_what_two_rankings_agree_on_comes_first() -> None:
    assert [key for key, _ in fused(([1, 2, 3], [3, 4, 1]), 3)] == [1, 3, 2]


def test_citations_are_checked_against_what_was_given() -> None:
    answer = "Whales sing [3, p. 12]. So [3 p.12] and [4, page 1], but also [9, p. 9]; [5] is none, nor is x[1]."
    cited, invented = checked_citations(answer, [(3, 12), (4, 1), (4, 2)])
    assert cited == [(3, 12), (4, 1)]
    assert invented == ["[9, p. 9]"]


def test_a_document_goes_by_its_id_or_by_words_that_no_other_has() -> None:
    def made(id: int, title: str, path: str) -> Document:
        return Document(id, title, path, "pdf", 1, 1, 0, True, "", "")

    documents = [made(1, "Whales", "/a/one.pdf"), made(2, "Whales of the South", "/a/2.pdf"), made(3, "2", "/b/x.pdf")]
    wanted = {"2": 2, "whales": 1, "south": 2, "/b/": 3, "whal": None, "": None, "/a/one.pdf": 1}
    assert {words: (found.id if (found := chosen(documents, words)) else None) for words in wanted} == wanted
