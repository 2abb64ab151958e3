"""`quintet database`: make and bring up the tables, see what is there, and move a project between databases."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import Any

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.sqlite.database import clear_errors, migrations
from quintet.adapters.stores.chosen import chosen_kind, database_url, file_rows, project_name
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.database_url import VARIABLE, shown_url
from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.safe_text import visible
from quintet.package import load
from quintet.surfaces.tables import complain, say, say_json, table

FILE = "file"  # the project's own, in place of a URL
PACKAGE = __name__.rpartition(".")[0]


def init(arguments: Namespace) -> int:
    return _brought_up(arguments, init=True)


def migrate(arguments: Namespace) -> int:
    return _brought_up(arguments, init=False)


def _brought_up(arguments: Namespace, *, init: bool) -> int:
    url = _chosen(locate(arguments.directory))
    link = _link(url)
    try:
        before, after = load("schema:migrate", PACKAGE)(link, init=init)
    finally:
        link.close()
    done = "the tables were made" if not before else "was brought up" if before < after else "is current"
    if arguments.json:
        say_json({"database": link.shown, "before": before, "version": after})
    else:
        say([f"{link.shown}: {done} (schema version {after})"])
    return 0


def status(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    url = database_url(places)
    answer = _of_server(places, url) if url else _of_file(places)
    if arguments.json:
        say_json(answer)
    else:
        _print(answer)
    return 1 if answer.get("problem") else 0


def _of_file(places: Places) -> dict[str, Any]:
    rows = file_rows(places)
    answer: dict[str, Any] = {"kind": "sqlite", "database": places.database, "known": len(migrations())}
    if rows is None:
        return {**answer, "version": 0, "projects": []}
    with clear_errors(places.database), closing(rows):
        counted = [
            int(str(rows.connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]))
            for name in ("sessions", "journal", "tasks", "inbox", "questions WHERE answer IS NULL")
        ]
        version = int(rows.connection.pragma("user_version"))
    return {**answer, "version": version, "project": places.name, "projects": [_counts(places.name, *counted)]}


def _counts(name: str, sessions: int, events: int, tasks: int, waiting: int, questions: int) -> dict[str, Any]:
    return {
        "project": name,
        "sessions": sessions,
        "events": events,
        "tasks": tasks,
        "inbox": waiting,
        "questions": questions,
    }


def _of_server(places: Places, url: str) -> dict[str, Any]:
    answer: dict[str, Any] = {"kind": "postgresql", "project": project_name(places)}
    chosen_kind(url)  # raises where this database cannot be used
    known = len(load("schema:migrations", PACKAGE)())
    sql = load("link:statements", PACKAGE)("database.sql")
    answer |= {"database": shown_url(url), "known": known}
    try:
        link = _link(url)
        try:
            version = load("schema:version_of", PACKAGE)(link)
            server, name, user, size = link.execute(sql["server"]).fetchall()[0]
            answer |= {"version": version, "server": server, "name": name, "user": user, "bytes": size}
            load("schema:checked", PACKAGE)(link)
            answer["projects"] = [_counts(*row) for row in link.execute(sql["counts"]).fetchall()]
        finally:
            link.close()
    except QuintetError as error:
        answer |= {"problem": error.message, "advice": error.hint, "code": error.code}
    return answer


def _print(answer: dict[str, Any]) -> None:
    about = [f"{answer['kind']}   {visible(answer['database'])}"]
    if "server" in answer:
        about.append(f"server   {answer['server']}, database {answer['name']}, role {answer['user']}")
    if "version" in answer:
        about.append(f"schema   version {answer['version']}, this Quintet supports {answer['known']}")
    if "project" in answer:
        about.append(f"project  {visible(answer['project'])}")
    say(about)
    if answer.get("projects"):
        heading = ("PROJECT", "SESSIONS", "EVENTS", "TASKS", "INBOX", "QUESTIONS")
        rows = [tuple(visible(str(value)) for value in one.values()) for one in answer["projects"]]
        say(["", *table(rows, heading=heading, right=(1, 2, 3, 4, 5))])
    if answer.get("problem"):
        complain(f"{answer['problem']}\n{answer['advice']}".strip())


def move(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    chosen = database_url(places)
    target = arguments.to
    source = arguments.source or (chosen if target == FILE else FILE)
    if not source:
        raise UsageError("from where? Name the database with --from URL")
    if source == target:
        raise UsageError("source and target are the same")
    for url in {source, target} - {FILE}:
        chosen_kind(url)
    moved = load("move:move_project", PACKAGE)(
        source, target, places.database, arguments.project or project_name(places), _progress(arguments)
    )
    if arguments.json:
        say_json(moved)
        return 0
    say([f"{name:<16} {count:>8}" for name, count in moved["counts"].items()])
    say(
        [
            "",
            f"moved from {visible(moved['from'])} to {visible(moved['to'])}; counts and digests agree.",
            "The source is unchanged.",
        ]
    )
    if target != FILE and target != chosen:
        say([f"To use it: export {VARIABLE}=URL, or database.url in your settings."])
    return 0


def _progress(arguments: Namespace) -> Any:
    return (lambda done, of: None) if arguments.json else _told


def _told(done: int, of: int) -> None:
    if of > 10_000:
        complain(f"{done:,} of {of:,} events")


def _chosen(places: Places) -> str:
    url = database_url(places)
    if not url:
        raise UsageError("no database is chosen", hint=f"Set {VARIABLE}=postgresql://USER@HOST/NAME, or --database.")
    chosen_kind(url)
    return url


def _link(url: str) -> Any:
    return load("link:ServerLink", PACKAGE)(url, reads_only=False)


def _move_flags(parser: ArgumentParser) -> None:
    parser.add_argument("--to", required=True, metavar="URL|file", help="where to; file: the project's own, on disk")
    parser.add_argument(
        "--from", dest="source", default="", metavar="URL|file", help="the source (default: the other one)"
    )
    parser.add_argument("--project", default="", metavar="NAME", help="the project's name in the database")


DATABASE = actions(
    "database",
    {
        "init": lookup("database init", "Make the tables in the database that QUINTET_DATABASE names.", init),
        "status": lookup("database status", "Which database is used, its schema, and what is in it.", status),
        "migrate": lookup("database migrate", "Bring the tables of an older Quintet up to this one.", migrate),
        "move": lookup(
            "database move", "Copy this project, sessions and tasks, into another database.", move, _move_flags
        ),
    },
)
