"""What the commands take that tell about sessions: logs, cost, forensics, replay."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from argparse import ArgumentParser


def logs(parser: ArgumentParser) -> None:
    from quintet.engine.reports.accounts import LEVELS

    parser.add_argument("--session", default="", metavar="ID", help="of one session, not of the whole project")
    parser.add_argument("--follow", action="store_true", help="go on with new ones as they end; JSON one a line")
    parser.add_argument("--level", choices=tuple(LEVELS), default="info", help="this one and above")
    parser.add_argument("--stage", default="", metavar="STAGE", help="only this stage's, for example act")
    parser.add_argument("-n", type=int, default=None, metavar="N", dest="lines", help="the last N only")


def by(parser: ArgumentParser) -> None:
    from quintet.engine.reports.accounts import GROUPINGS

    parser.add_argument("--by", choices=GROUPINGS, default="model", help="what to add up by; a day is one of UTC")
    parser.add_argument(
        "--since", default="", metavar="WHEN", help="only from a day or time of UTC on, or 7d, 12h, 30m ago"
    )


def forensics(parser: ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", default="", help="a session's id, the beginning of one, or latest; else the newest"
    )
    parser.add_argument("--turn", type=int, default=None, metavar="N", help="one turn of it, counted from 1")
    parser.add_argument(
        "--html",
        nargs="?",
        const="",
        default=None,
        metavar="FILE",
        help="as one page with charts, that needs nothing else; forensics-ID.html here if no FILE is named",
    )


def replay(parser: ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        default="",
        help="a session's id, the beginning of one, or latest; or an exported file; else the newest session",
    )
    parser.add_argument(
        "--turn", type=int, default=0, metavar="N", help="only this turn of the session; 1 is the first"
    )
    parser.add_argument("--export", default="", metavar="FILE", help="write it as one file that can be shared")
