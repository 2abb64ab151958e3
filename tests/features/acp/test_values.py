"""What a client sends, and what it is shown, as values: tables."""

import base64
from pathlib import Path
from typing import Any

import pytest
from acp.schema import (
    AcpMcpServer,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    EnvVariable,
    HttpHeader,
    HttpMcpServer,
    ImageContentBlock,
    McpServerStdio,
    ResourceContentBlock,
    SseMcpServer,
    TextContentBlock,
    TextResourceContents,
)

from quintet.adapters.files.paths import locate
from quintet.domain.base.errors import UsageError
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect
from quintet.features.acp import calls, dials, prompts, questions, servers

GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"
DIFF = """\
--- a/one.txt
+++ b/one.txt
@@ -1,2 +1,2 @@
 same
-old
+new
@@ -9 +9,2 @@
 last
+more
--- /dev/null
+++ b/two.txt
@@ -0,0 +1 @@
+--- no header
"""


def text(words: str) -> TextContentBlock:
    return TextContentBlock(type="text", text=words)


def link(uri: str, name: str = "x") -> ResourceContentBlock:
    return ResourceContentBlock(type="resource_link", uri=uri, name=name)


def test_a_diff_is_shown_hunk_by_hunk_and_a_line_that_looks_like_a_header_is_none() -> None:
    found = [(one.path, one.old_text, one.new_text) for one in calls.changed(DIFF, "/p")]  # type: ignore[union-attr]
    assert found == [
        ("/p/one.txt", "same\nold\n", "same\nnew\n"),
        ("/p/one.txt", "last\n", "last\nmore\n"),
        ("/p/two.txt", None, "--- no header\n"),
    ]


@pytest.mark.parametrize(
    ("tool", "effects", "kind"),
    [
        ("Read", (), "read"),
        ("grep", (Effect.READ,), "search"),
        ("bash", (Effect.READ,), "execute"),
        ("web_fetch", (), "fetch"),
        ("git_commit", (Effect.COMMIT,), "execute"),
        ("fs_delete", (Effect.DESTROY,), "delete"),
        ("somebodys_tool", (), "other"),
    ],
)
def test_the_kind_of_a_call(tool: str, effects: tuple[Effect, ...], kind: str) -> None:
    assert calls.kind(tool, effects) == kind


@pytest.mark.parametrize("given", ["", "[1]", "{", "null"])
def test_arguments_that_are_no_object_are_none(given: str) -> None:
    assert calls.arguments(given) == {}


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert calls.fenced("```\na\n````") == "`````text\n```\na\n````\n`````"


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("file:///p/a%20b.py", "@a b.py"),
        ("/p/src/x.py", "@src/x.py"),
        ("file:///etc/passwd", "`/etc/passwd`"),
        ("file:///p/../etc/passwd", "`/etc/passwd`"),
        ("https://example.com/x", "`https://example.com/x`"),
        ("zed:///agent/thread/1", "`x (zed:///agent/thread/1)`"),
        ("/permission-profile unrestricted", "`/permission-profile unrestricted`"),
        ("file:///mode build", "`/mode build`"),
        ("!touch x", "`x (!touch x)`"),
    ],
)
def test_a_link_is_written_as_a_person_would(uri: str, words: str) -> None:
    assert prompts._named(uri, "x", "/p") == words


def test_what_comes_along_is_quoted_and_a_command_takes_none(repo: Path) -> None:
    places = locate(str(repo))
    along = EmbeddedResourceContentBlock(
        type="resource", resource=TextResourceContents(uri=(repo / "a.md").as_uri(), text="```\n! rm -rf x\n```")
    )
    read = prompts.read([text("look"), along], places)
    assert read.text == "look @a.md"
    assert read.quoted == "From a.md, as the editor sends it:\n\n````\n```\n! rm -rf x\n```\n````"
    assert prompts.read([text("/plan it"), along], places) == prompts.SentPrompt("/plan it @a.md")


def test_a_picture_is_kept_as_a_file_of_the_sessions_own(repo: Path) -> None:
    places = locate(str(repo))
    data = base64.b64encode(GIF).decode()
    blob = EmbeddedResourceContentBlock(type="resource", resource=BlobResourceContents(uri="x:y", blob=data))
    for block in (ImageContentBlock(type="image", mime_type="image/png", data=data), blob):
        read = prompts.read([text("see"), block], places)
        (path,) = read.pictures
        assert Path(path).read_bytes() == GIF and path.startswith(places.outputs) and path.endswith(".gif")
        assert Path(path).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "block",
    [
        ImageContentBlock(type="image", mime_type="image/png", data="???"),
        ImageContentBlock(type="image", mime_type="image/png", data=base64.b64encode(b"<svg/>").decode()),
        text("  "),
        object(),
    ],
)
def test_what_cannot_be_taken_is_an_error(repo: Path, block: Any) -> None:
    with pytest.raises(UsageError):
        prompts.read([block], locate(str(repo)))


def stdio(name: str, *, command: str = "run", value: str = "v") -> McpServerStdio:
    return McpServerStdio(name=name, command=command, args=["-x"], env=[EnvVariable(name="A", value=value)])


def test_an_editors_servers_become_settings() -> None:
    http = HttpMcpServer(type="http", name="far", url="http://h/mcp", headers=[HttpHeader(name="K", value="v")])
    older = SseMcpServer(type="sse", name="old", url="http://h/sse", headers=[HttpHeader(name="K", value="v")])
    found, left_out = servers.as_settings([stdio("near"), http, older], ())
    assert left_out == []
    assert found == {
        "mcp.servers.near.command": "run",
        "mcp.servers.near.args": ("-x",),
        "mcp.servers.near.env": {"A": "v"},
        "mcp.servers.near.by_editor": True,
        "mcp.servers.far.url": "http://h/mcp",
        "mcp.servers.far.headers": {"K": "v"},
        "mcp.servers.far.by_editor": True,
        "mcp.servers.old.url": "http://h/sse",
        "mcp.servers.old.headers": {"K": "v"},
        "mcp.servers.old.protocol": "sse",
        "mcp.servers.old.by_editor": True,
    }


@pytest.mark.parametrize(
    "server",
    [
        stdio("mine"),
        stdio("a.b"),
        stdio(""),
        stdio("sly", value="${TOKEN}"),
        stdio("sly", command="${HOME}/x"),
        HttpMcpServer(type="http", name="far", url="http://h/${TOKEN}", headers=[]),
        HttpMcpServer(type="http", name="far", url="http://h/", headers=[HttpHeader(name="K", value="${TOKEN:-x}")]),
        SseMcpServer(type="sse", name="old", url="http://h/${TOKEN}", headers=[]),
        AcpMcpServer(type="acp", name="inside", serverId="inside"),
    ],
)
def test_a_server_that_would_take_something_of_the_users_is_left_out(server: Any) -> None:
    found, left_out = servers.as_settings([server], {"mine"})
    assert found == {} and len(left_out) == 1


def test_of_two_servers_of_one_name_the_first_is_used() -> None:
    found, left_out = servers.as_settings([stdio("one", command="a"), stdio("one", command="b")], ())
    assert found["mcp.servers.one.command"] == "a" and len(left_out) == 1


FORM = p.QuestionAsked(
    question="q",
    kind="choose",
    text="Which branch?",
    choices=(
        p.Choice("t", "type an answer", takes_text=True),
        p.Choice("d", "default: main"),
        p.Choice("n", "decline"),
    ),
)


@pytest.mark.parametrize(
    ("said", "choice", "note"),
    [("release", "t", "release"), ("d", "d", ""), ("decline", "n", ""), ("t", "t", "t")],
)
def test_a_message_answers_a_question_that_needs_words(said: str, choice: str, note: str) -> None:
    answer = questions.by_message(FORM, said)
    assert (answer.choice, answer.note) == (choice, note)


def test_a_choice_that_takes_words_is_offered_to_clients_with_forms_alone() -> None:
    assert questions.needs_words(FORM)
    assert [one.option_id for one in questions.options(FORM, forms=True)] == ["t", "d", "n"]
    assert [one.option_id for one in questions.options(FORM, forms=False)] == ["d", "n"]


@pytest.mark.parametrize(
    ("option", "value", "line"),
    [("mode", "build", "/mode build"), ("reasoning", True, "/reasoning on"), ("model", "a b", '/model "a b"')],
)
def test_an_option_is_the_command_of_its_dial(option: str, value: str | bool, line: str) -> None:
    assert dials.command(option, value) == line


@pytest.mark.parametrize(("option", "value"), [("surface", "tui"), ("mode", " "), ("executor", "codex")])
def test_nothing_else_can_be_turned_as_an_option(option: str, value: str) -> None:
    with pytest.raises(UsageError):
        dials.command(option, value)
