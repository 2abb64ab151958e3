"""`quintet library` and what its actions take."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

    Lookup = Callable[..., Callable[[list[str]], int]]

LIBRARY = "features.library.cli"


def library_actions(lookup: Lookup) -> dict[str, Callable[[list[str]], int]]:
    return {
        "list": lookup("library list", "The documents of this project's library.", None, LIBRARY),
        "add": lookup(
            "library add",
            "Put documents in: PDF, EPUB, Markdown, HTML, text; exit code 1 if one of them cannot be read.",
            _paths,
            LIBRARY,
        ),
        "search": lookup("library search", "The pages that fit, the best first.", _search, LIBRARY),
        "show": lookup("library show", "A document, or the text of one of its pages.", _show, LIBRARY),
        "remove": lookup("library remove", "Take documents out; the files stay where they are.", _documents, LIBRARY),
        "activate": lookup("library activate", "Search these documents again.", _documents, LIBRARY),
        "deactivate": lookup(
            "library deactivate", "Keep documents, and leave them out of searches.", _documents, LIBRARY
        ),
        "status": lookup("library status", "How much is in it, and by what it is searched.", None, LIBRARY),
    }


def _paths(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, or folders: then every document below them")


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help='words; "two words" are a phrase, wor* is the beginning of a word')
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="so many at most; 10")
    parser.add_argument("--type", default="", metavar="FORMAT", help="only pdf, epub, markdown, html or text")


def _show(parser: ArgumentParser) -> None:
    parser.add_argument("document", metavar="DOC", help="its id, or words of its title or path that no other has")
    parser.add_argument("--page", type=int, default=None, metavar="N", help="this page's text")


def _documents(parser: ArgumentParser) -> None:
    parser.add_argument("documents", nargs="+", metavar="DOC", help="its id, or words that no other has")
