"""The docs cannot drift: reference pages are regenerated, every public name is in them, links resolve, examples run."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from quintet import __version__
from quintet.adapters.agents.package import read_package
from quintet.app.tool_registry import ALL, BY_NAME
from quintet.cli import commands
from quintet.domain.agents.route import resolve
from quintet.domain.base import errors
from quintet.domain.dials.axes import AXIS_WORDS, Axes, PermissionProfile, Surface, WorkMode
from quintet.domain.dials.transitions import Scope
from quintet.domain.journal import protocol
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox, Terms, Verdict, decide
from quintet.domain.turn.stage_policy import Stage
from quintet.domain.turn.tool_spec import ToolSpec, Touch
from quintet.engine.commands.table import TABLE
from quintet.features.registry import tables
from quintet.surfaces.headless import EXIT

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
EXAMPLE = ROOT / "examples" / "library.py"
OWN = [*PAGES, DOCS / "generate.py", EXAMPLE, ROOT / "scripts" / "docs"]

TERMS = """
    Axes; Work mode; Run control; Permission profile; Model mode; Surface; Transition; Actor; Badge; Reasoning; Scope;
    Unit; Pending; Session; Conversation; Run; Turn; Step; Stage; Offline rules; Fork; Prompt; Effect; Gate; Grant; Ask;
    Question; Protected path; Trust; Sandbox; Submission; Inbox; Event; Signal; Journal; Owner; Lease
"""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def reference(page: str) -> str:
    return (DOCS / "reference" / page).read_text()


def test_the_reference_is_what_the_program_says_of_itself() -> None:
    made = runpy.run_path(str(DOCS / "generate.py"))["pages"]()
    stored = {path.name: path.read_text() for path in (DOCS / "reference").iterdir()}
    assert stored == made, "run scripts/docs"


def test_every_slash_command_is_documented() -> None:
    page = reference("commands.md")
    assert [command.name for command in TABLE if f"`/{command.name}" not in page] == []
    assert [scope for scope in Scope if f"`{scope}`" not in page] == []


def test_every_command_of_the_command_line_is_documented() -> None:
    page = reference("cli.md")
    assert [command for command in commands.names() if f"## `quintet {command}" not in page] == []
    assert [word for word in ("-p", "--resume", "--output-format", "sessions fork", "--yes") if word not in page] == []


def test_every_setting_is_documented() -> None:
    page = reference("settings.md")
    assert [key for key in tables().catalogue() if f"| `{key}` |" not in page] == []


def test_every_tool_is_documented() -> None:
    page = reference("tools.md")
    assert [spec.name for spec in ALL if f"## `{spec.name}`" not in page] == []
    arguments = {argument for spec in ALL for argument in spec.schema()["properties"]}
    assert [argument for argument in arguments if f"| `{argument}` |" not in page] == []


def test_every_submission_event_and_signal_is_documented() -> None:
    page = reference("events.md")
    kinds = get_args(protocol.Submission) + get_args(protocol.Event) + get_args(protocol.Signal)
    assert len(kinds) > 20
    assert [kind for kind in kinds if f"### `{kind.__struct_config__.tag}`" not in page] == []


def test_every_error_code_is_documented() -> None:
    page = reference("errors.md")
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.QuintetError)]
    assert len(kinds) > 10
    assert [
        kind
        for kind in kinds
        if not re.search(
            rf"\[`{kind.code}`\]\(troubleshooting.md#{kind.code.lower()}\) \|.*\| `{kind.__name__}` \|", page
        )
    ] == []


def test_the_glossary_names_each_term() -> None:
    page = (DOCS / "glossary.md").read_text()
    terms = [term.strip() for term in TERMS.replace("\n", " ").split(";")]
    assert [term for term in terms if f"**{term}** — " not in page] == []
    assert [word for kind in (Effect, Scope, Stage) for word in kind if f"`{word}`" not in page] == []


def test_the_glossary_explains_each_word_once() -> None:
    heads = re.findall(r"^\*\*(.+?)\*\* — ", (DOCS / "glossary.md").read_text(), re.M)
    words = [word.lower() for head in heads for word in head.split(", ")]
    assert sorted(words) == sorted(set(words))


def test_the_readme_has_every_value_of_every_dial() -> None:
    rows = [line for line in README.splitlines() if line.count("|") == 5]
    shown = " ".join(rows)
    values = [value for kind in AXIS_WORDS.values() for value in kind]
    assert [value for value in values if f"`{value}`" not in shown] == []


def test_the_page_about_approval_tells_what_the_gate_decides() -> None:
    page = (DOCS / "approval.md").read_text()
    words = {Verdict.ALLOW: "runs", Verdict.ASK: "approval", Verdict.DENY: "no"}
    spec: ToolSpec = BY_NAME["bash"]
    for effect in spec.effects:
        cells = [
            words[decide(spec, Touch(frozenset({effect})), build(profile), Terms("/p", True, Sandbox.BWRAP)).verdict]
            for profile in PermissionProfile
        ]
        assert re.search(rf"^\| {effect} \| .* \| {' . '.join(cells)} \|$".replace(" . ", r" \| "), page, re.M), effect


def build(profile: PermissionProfile) -> Axes:
    return Axes(work_mode=WorkMode.BUILD, permission_profile=profile, surface=Surface.HEADLESS)


def test_the_exit_codes_are_the_documented_ones() -> None:
    codes = {*EXIT.values(), errors.QuintetError.exit_code, errors.UsageError.exit_code}
    page = (DOCS / "howto" / "script-it.md").read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.M)} == codes


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_resolves(page: Path) -> None:
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)


def links(page: Path) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "`", prose(page)))
    return [target for target in found if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Heading anchors as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


PACKAGE = ROOT / "src" / "quintet"
ROOMS = "domain|engine|adapters|features|surfaces|scripts|bench"
COMMON = "app|cli|tools|src|docs|tests|examples"  # names that folders of other projects have too
FOR_USERS = (
    "README.md",
    "docs/tutorial.md",
    "docs/tour.md",
    "docs/approval.md",
    "docs/library.md",
    "docs/howto/",
    "docs/reference/",
)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    if name(page).startswith(FOR_USERS):
        paths = paths_in(prose(page), ROOMS)
    else:
        paths = paths_in(page.read_text(), f"{ROOMS}|{COMMON}") + re.findall(r"`(\w+\.py)`", page.read_text())
    assert [path for path in paths if not there(path)] == []


def test_nothing_says_to_install_quintet_from_an_index() -> None:
    """The name belongs to somebody else's package there."""
    by_name = re.compile(r"""(?:pipx?|uv tool|uv pip) install (?:-\S+ )*['"]?quintet\b""")
    told = {name(page): by_name.findall(page.read_text()) for page in (*PAGES, ROOT / "docs/words.txt")}
    assert {page: lines for page, lines in told.items() if lines} == {}


def paths_in(text: str, folders: str) -> list[str]:
    """Paths of ours, from the repository's root or from the package's; `tests/PATH` stands for any."""
    found = re.findall(rf"(?<![\w./~$>-])(?:{folders})/[\w./*-]*", text)
    return [path.rstrip(".") for path in found if not path.endswith("/PATH")]


def there(path: str) -> bool:
    if "/" not in path:
        return any(PACKAGE.rglob(path)) or any((ROOT / "tests").rglob(path))
    return any(any(root.glob(path)) for root in (ROOT, PACKAGE))


@pytest.mark.parametrize("walk", ["The walk of a prompt", "The walk of a task"])
def test_every_file_of_a_walk_exists(walk: str) -> None:
    section = (DOCS / "architecture.md").read_text().split(f"## {walk}\n")[1].split("\n## ")[0]
    files = re.findall(r"^\| `([^`]+)` \|", section, re.M)
    assert len(files) > 20
    assert [file for file in files if not (PACKAGE / file).is_file()] == []


@pytest.mark.parametrize(
    ("script", "file"),
    [("bench", "bench/{}.py"), ("check", "scripts/checks/{}.py"), ("faults", "tests/faults/campaign_{}.py")],
)
def test_every_measurement_check_and_campaign_that_a_page_names_exists(script: str, file: str) -> None:
    named = {found for page in PAGES for found in re.findall(rf"scripts/{script} ([a-z][\w-]*)", page.read_text())}
    assert named
    assert [one for one in named if not (ROOT / file.format(one.replace("-", "_"))).is_file()] == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, queue = set(), [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        queue += [(page.parent / target.partition("#")[0]).resolve() for target in links(page)]
    assert {name(page) for page in PAGES} - {name(page) for page in reached} <= {"docs/benchmarks.md"}


def test_the_library_example_is_the_one_that_the_page_shows() -> None:
    assert f"```python\n{EXAMPLE.read_text()}```" in (DOCS / "library.md").read_text()


def test_the_readme_is_two_screens() -> None:
    assert len(README.splitlines()) <= 100


def test_what_is_said_of_others_has_a_source_and_a_date() -> None:
    section = README.split("## Compared with others\n")[1].split("\n## ")[0]
    assert re.search(r"read on \d{4}-\d\d-\d\d", section)
    heading, _, *rows = [
        re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    others = heading[1:]
    assert [name for name in others if not re.search(rf"\b{name} \d+\.\d+\.\d+[,;]", section)] == [], "which version"
    assert {len(row) for row in rows} == {len(others) + 2}, "a cell for each"
    cells = [cell for row in rows for cell in row[2:]]
    assert len(cells) > 20
    assert [cell for cell in cells if not re.fullmatch(r"\[[^\]]+\]\(https://\S+\)", cell)] == [], "no source"


def test_the_moving_picture_moves_by_style_alone() -> None:
    """A page that shows it runs nothing; it is small enough to load with the page."""
    drawn = (DOCS / "pictures" / "session.svg").read_text()
    assert "@keyframes" in drawn and not re.search(r"<script|\bon\w+=|href|@import|url\(http|<foreignObject", drawn)
    assert len(drawn) < 300_000


def examples() -> list[str]:
    _, *others = re.findall(r"^```python\n(.*?)^```", (DOCS / "library.md").read_text(), re.M | re.S)
    return [EXAMPLE.read_text(), *others]


@pytest.mark.parametrize("source", examples(), ids=["library.py", "answers", "testing"])
def test_the_library_examples_run(source: str, repo: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", source], cwd=repo, env=os.environ, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout


def test_agents_md_is_short_and_its_tree_exists() -> None:
    text = (ROOT / "AGENTS.md").read_text()
    assert len(text.splitlines()) <= 60
    tree = re.search(r"^```text\n(.*?)^```", text, re.M | re.S)
    assert tree and tree.start() < 40
    there = {path.name for folder in (ROOT / "src", ROOT / "tests", DOCS) for path in [folder, *folder.rglob("*")]}
    named = re.findall(r"(?<!\S)\w+(?:\.py|(?=/\s))", tree[1])
    assert len(named) > 15
    assert [word for word in named if word not in there] == []


def test_decisions_are_short_and_listed() -> None:
    index = (DOCS / "adr" / "README.md").read_text()
    records = sorted((DOCS / "adr").glob("0*.md"))
    assert [record.name[:4] for record in records] == [f"{n:04}" for n in range(1, len(records) + 1)]
    for record in records:
        lines = record.read_text().splitlines()
        assert len(lines) <= 40, record.name
        assert [line for line in lines if line.startswith("## ")] == ["## Context", "## Decision", "## Consequences"]
        assert f"]({record.name})" in index


@pytest.mark.parametrize("page", OWN, ids=name)
def test_no_page_speaks_of_anything_but_the_project(page: Path) -> None:
    text = page.read_text()
    hosts = r"pypi\.|pythonhosted|npmjs|crates\.io|docker\.io|ghcr\.io|//[\w.]*(?:registry|mirror|artifactory|nexus)"
    assert re.findall(rf"(?<![\w.])/work\b|\bshared/|/opt/|/root/|{hosts}", text) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_one_voice(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`|!\[", "", prose(page))
    assert re.findall(r"\w!(?:\s|$)", text) == [], "no exclamation marks"
    assert [char for char in text if ord(char) > 0x1F000] == [], "no emoji"
    assert re.findall(r"(?i)\b(?:simply|powerful|blazing|seamless\w*|effortless\w*|coming soon)\b", text) == []
    assert re.findall(r"\bTODO\b", text) == [], "a todo is a thing of ours; a TODO is a note left behind"


def test_the_agent_of_the_howto_is_one(tmp_path: Path) -> None:
    page = (DOCS / "howto" / "write-an-agent.md").read_text()
    (example,) = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "guide.agent.yaml").write_text(example)
    found = read_package(str(tmp_path))
    assert found.package and not found.problems
    (agent,) = found.package.agents
    for text, shown in re.findall(r"^\$ quintet route --agent harbour-guide -- (.*)\n(\w+)", page, re.M):
        assert resolve(text, agent).kind == shown


def test_the_newest_version_of_the_changelog_is_this_one() -> None:
    versions = re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert versions[0] == __version__ and versions == sorted(versions, reverse=True)
