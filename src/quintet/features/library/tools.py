"""The library's tools: what the user's documents say, with the document and page that says it. Answers are JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from quintet.domain.base.errors import QuintetError, ToolFailed
from quintet.domain.base.wording import counted, did_you_mean
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.features.library.passages import FORMATS, Document, FoundPassages, Passage, checked_citations
from quintet.tools.declare import tool

if TYPE_CHECKING:
    from quintet.features.library.library import LocalLibrary

T = TypeVar("T")
Action = Literal["search", "list", "get_content", "activate", "deactivate", "status", "answer"]
MOST_FOUND = 50
MOST_LISTED = 200
PAGE_CHARACTERS = 20_000
EXCERPT_CHARACTERS = 1200  # of a page, where a question is answered
NOTHING = "No page of the library matches."
FILL = "`quintet library add PATH…` adds documents."


def _reads(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}))


@tool(effects={Effect.READ}, touch=_reads, asks=True)
async def librarian(
    bench: Workbench, action: Action, query: str = "", document_id: str = "", page: int = 1, top_k: int = 5
) -> ToolResult:
    """Look things up in the documents that the user added.

    search finds pages, answer answers from them with citations, list shows the documents, get_content a page's text;
    activate and deactivate say whether a document is searched, status how much there is.

    :action: what to do
    :query: for search and answer: words, a "phrase", or a question
    :document_id: for get_content, activate, deactivate: its id, or words of its title
    :page: for get_content: which page, from 1
    :top_k: for search and answer: how many pages at most
    """
    library = _library(bench)
    if action in ("search", "answer"):
        found = await _searched(library, query, top_k)
        if action == "answer":
            return await _answered(bench, library, query, found)
        return _told(_summary(found), found, [f"searched for {query}"])
    if action in ("get_content", "activate", "deactivate") and not document_id:
        raise ToolFailed(f"librarian: {action} needs a document_id; action list shows them")
    if action == "list":
        documents = await library.documents()
        shown = [_listed(document) for document in documents[:MOST_LISTED]]
        left = f", {len(documents) - MOST_LISTED} of them not shown" if len(documents) > MOST_LISTED else ""
        answer = f"{counted(len(documents), 'document')}{left}." if documents else f"The library is empty. {FILL}"
        return _json(answer, documents=shown, actions=["listed the documents"])
    if action == "status":
        status = await library.status()
        answer = f"{counted(status.documents, 'document')}, {status.active} searched, {counted(status.pages, 'page')}."
        return _json(answer, status=msgspec.to_builtins(status), actions=["looked at the library"])
    if action == "get_content":
        return await _content(library, document_id, page)
    document = await _of(library.set_active(document_id, action == "activate"))
    state = "searched" if document.active else "no longer searched"
    return _json(f"{document.title} is {state}.", documents=[_listed(document)], actions=[f"{action}d {document.id}"])


@tool(effects={Effect.READ}, touch=_reads)
async def librarian_search(bench: Workbench, query: str, limit: int = 10, source_type: str = "") -> ToolResult:
    """Search the documents that the user added; gives the pages that fit best, with the words around what fits.

    :query: words, a "phrase", or the beginning of a word*
    :limit: how many pages at most
    :source_type: only pdf, epub, markdown, html or text
    """
    if source_type and source_type not in FORMATS:
        hint = did_you_mean(source_type, FORMATS)
        raise ToolFailed(f'source_type "{source_type}": not one of {", ".join(FORMATS)}.{hint}')
    found = await _searched(_library(bench), query, limit, source_type)
    return _told(_summary(found), found, [f"searched for {query}"])


def _library(bench: Workbench) -> LocalLibrary:
    library: LocalLibrary = bench.service("library")
    return library


async def _searched(library: LocalLibrary, query: str, limit: int, format: str = "") -> FoundPassages:
    if not query.strip():
        raise ToolFailed("librarian: expected a query: the words to search for")
    if not 1 <= limit <= MOST_FOUND:
        raise ToolFailed(f"{limit} pages: expected 1 to {MOST_FOUND}")
    return await _of(library.search(query, limit, format))


async def _of(asked: Awaitable[T]) -> T:
    try:
        return await asked
    except QuintetError as error:
        raise ToolFailed(error.message, hint=error.hint) from None


def _summary(found: FoundPassages) -> str:
    if not found.passages:
        return f"{NOTHING} {found.note}".strip()
    return f"{counted(len(found.passages), 'page')}, found by {found.by}; the best first. {found.note}".strip()


async def _answered(bench: Workbench, library: LocalLibrary, question: str, found: FoundPassages) -> ToolResult:
    """A model's answer with the citations that hold; the best passages as they are, where no model answers."""
    passages = await library.around(found.passages, EXCERPT_CHARACTERS)
    found = msgspec.structs.replace(found, passages=passages)
    actions = [f"searched for {question}"]
    if not passages:
        return _told(_summary(found), found, actions)
    if bench.advisers is None or not bench.advisers.ready("smart"):
        answer = "No language model is configured: these are the passages that match best."
        return _told(answer, found, actions)
    shown = "\n\n".join(f"[{one.document}, p. {one.page}] {one.title}\n{one.text}" for one in passages)
    try:
        told = f"Question: {question}\n\nPassages:\n\n{shown}"
        advice = await bench.advisers.ask("library", "smart", told, tell=bench.progress)
    except ToolFailed as error:
        answer = f"No model answered ({error.message}): these are the passages that match best."
        return _told(answer, found, actions)
    cited, invented = checked_citations(advice.text, [(one.document, one.page) for one in passages])
    answer = advice.text or "(empty reply from the model; the passages are below)"
    if invented:
        answer += f"\n(It also cites {', '.join(invented)}, which was not among the passages: do not rely on it.)"
    elif not cited and advice.text:
        answer += "\n(It cites no passage.)"
    actions.append(f"asked {advice.consulted.model} with {counted(len(passages), 'passage')}")
    result = _told(answer, found, actions, cited)
    return msgspec.structs.replace(result, consulted=(advice.consulted,))


async def _content(library: LocalLibrary, document: str, page: int) -> ToolResult:
    found = await _of(library.page(document, page))
    text = found.text or "(this page has no text: it is scanned, or a picture)"
    cut = len(text) - PAGE_CHARACTERS
    more = f" Its last {cut} characters are omitted." if cut > 0 else ""
    passage = Passage(found.document, found.title, found.page, text[:PAGE_CHARACTERS], 1.0)
    answer = f"Page {found.page} of {found.pages} of {found.title}.{more}"
    return _told(answer, FoundPassages((passage,)), [f"read page {found.page} of document {found.document}"])


def _told(
    answer: str, found: FoundPassages, actions: list[str], cited: Sequence[tuple[int, int]] | None = None
) -> ToolResult:
    """`cited` are the places that the answer rests on; all of them, where nobody chose."""
    places = [(passage.document, passage.page) for passage in found.passages]
    titles = {passage.document: passage.title for passage in found.passages}
    citations = [
        {"document": document, "title": titles[document], "page": page}
        for document, page in (places if cited is None else cited)
    ]
    excerpts = [
        {"document": passage.document, "title": passage.title, "page": passage.page, "text": passage.text}
        for passage in found.passages
    ]
    return _json(answer, citations, excerpts, actions)


def _json(
    answer: str,
    citations: Sequence[dict[str, Any]] = (),
    excerpts: Sequence[dict[str, Any]] = (),
    actions: Sequence[str] = (),
    **more: Any,
) -> ToolResult:
    told = {"answer": answer, "citations": citations, "excerpts": excerpts, **more, "actions_taken": actions}
    content = msgspec.json.format(msgspec.json.encode(told), indent=1).decode()
    return ToolResult(content, summary=counted(len(excerpts), "page") if excerpts else answer[:60])


def _listed(document: Document) -> dict[str, Any]:
    fields = msgspec.to_builtins(document)
    return {key: fields[key] for key in ("id", "title", "format", "pages", "blank", "active", "path")}
