"""What a project's files say of it, and the AGENTS.md that follows from that alone."""

from __future__ import annotations

from msgspec import Struct

AGENTS_MD = "AGENTS.md"


class FoundCommand(Struct, frozen=True):
    """A command that a manifest names or implies."""

    use: str  # build, test, lint, format, types, run
    line: str
    source: str  # the file that says so


class ProjectFacts(Struct, frozen=True):
    name: str
    about: str = ""  # the first sentence of the README
    languages: tuple[tuple[str, int], ...] = ()  # with how many files, the most first
    commands: tuple[FoundCommand, ...] = ()
    folders: tuple[tuple[str, int], ...] = ()  # at the top, with how many files are below each
    there: tuple[str, ...] = ()  # pages for agents that there are already


def as_lines(facts: ProjectFacts) -> list[str]:
    """The facts in a few lines; no list, which would be taken for several requests."""
    languages = ", ".join(f"{name} ({count})" for name, count in facts.languages)
    lines = [f"name: {facts.name}"]
    lines += [f"languages, by number of files: {languages}"] if languages else []
    lines += [f"{one.use}: `{one.line}` ({one.source})" for one in facts.commands]
    return [*lines, *(f"folder {folder}: {count} files" for folder, count in facts.folders)]


def agents_md(facts: ProjectFacts) -> str:
    """The page, from the facts and nothing else."""
    parts = [f"# {facts.name}"]
    parts += [facts.about] if facts.about else []
    if facts.languages:
        parts.append("Languages: " + ", ".join(name for name, _ in facts.languages) + ".")
    if facts.commands:
        parts.append("## Commands\n\n" + "\n".join(f"- {one.use}: `{one.line}`" for one in facts.commands))
    if facts.folders:
        parts.append("## Layout\n\n" + "\n".join(f"- `{folder}/`" for folder, _ in facts.folders))
    if any(one.use in ("test", "check") for one in facts.commands):
        parts.append("## Conventions\n\n- Run the tests before work counts as done.")
    return "\n\n".join(parts) + "\n"
