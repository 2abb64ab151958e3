"""Asking other models: one question, one answer, and images that are images."""

import base64
from pathlib import Path
from typing import Any

from quintet.domain.base.errors import ModelRateLimited, ModelUnreachable
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.messages import EndPart, Finish, Image, Role, TextPart, Usage
from quintet.testing import ScriptedModel
from tests.documents import pdf
from tests.tools.calling import Caller

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HEADS = {
    "png": (PNG, "image/png"),
    "jpg": (b"\xff\xd8\xff\xe0 a picture", "image/jpeg"),
    "gif": (b"GIF89a a picture", "image/gif"),
    "webp": (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
}


def asked(model: ScriptedModel) -> tuple[str, str, tuple[Image, ...]]:
    """What the model was told, asked, and shown."""
    (request,) = model.requests
    system, user = request.messages
    assert (system.role, user.role) == (Role.SYSTEM, Role.USER)
    return system.text, user.text, user.images


def test_a_friend_is_asked_the_question_and_nothing_else(repo: Path) -> None:
    model = ScriptedModel(["Because of the cache."])
    result = Caller(repo, model=model)("ask_smart_friend", question="Why is it slow?")
    assert (result.content, result.summary) == ("Because of the cache.", "by builtin")
    assert [(one.route, one.usage) for one in result.consulted] == [("deep", Usage(10, 5))]
    told, question, images = asked(model)
    assert "one question" in told
    assert (question, images) == ("Why is it slow?", ())
    assert model.requests[0].tools == ()


def test_images_are_shown_by_what_they_are(repo: Path) -> None:
    for kind, (data, _) in HEADS.items():
        (repo / f"{kind}.bin").write_bytes(data)
    model = ScriptedModel(["A dot."])
    tools = Caller(repo, model=model)
    assert tools.ok("visual_checker", question="What is it?", images=[f"{kind}.bin" for kind in HEADS]) == "A dot."
    told, question, images = asked(model)
    assert "cannot see" in told
    assert question == "Image 1: png.bin\nImage 2: jpg.bin\nImage 3: gif.bin\nImage 4: webp.bin\n\nWhat is it?"
    assert [image.media_type for image in images] == [kind for _, kind in HEADS.values()]
    assert base64.b64decode(images[0].data) == PNG


def test_what_cannot_be_looked_at_says_why(repo: Path) -> None:
    model = ScriptedModel([])
    tools = Caller(repo, model=model)
    (repo / "a.pdf").write_bytes(pdf(["x"]))
    (repo / "big.png").write_bytes(PNG + bytes(5_000_000))
    (repo / "key.pem").write_bytes(PNG)
    (repo / "link.png").symlink_to("key.pem")
    for images, says in (
        ([], "1 to 8 are allowed"),
        (["a.pdf"] * 9, "1 to 8 are allowed"),
        (["a.pdf"], "a.pdf: not a PNG, JPEG, WebP or GIF"),
        (["big.png"], "the limit is 5000000"),
        (["key.pem"], "it may contain secrets"),
        (["link.png"], "it may contain secrets"),
        (["nowhere.png"], "No such file"),
    ):
        assert says in tools.fails("visual_checker", question="?", images=images)
    assert tools.verdict("visual_checker", question="?", images=["/etc/passwd"]) is Verdict.ASK
    assert "expected a question" in tools.fails("ask_smart_friend", question=" ")
    assert model.requests == []


def test_with_the_offline_rules_it_says_so_and_how_to_mend_it(tools: Caller, repo: Path) -> None:
    (repo / "a.png").write_bytes(PNG)
    for tool, arguments, route in (
        ("ask_smart_friend", {}, "deep"),
        ("visual_checker", {"images": ["a.png"]}, "vision"),
    ):
        said = tools.fails(tool, question="?", **arguments)
        assert said.startswith(f"no language model is configured for {route}: `quintet models` shows")
        assert f"routing.{route}" in said
        assert "\n" not in said


def test_an_answer_that_is_long_cut_or_refused_is_said_to_be(repo: Path) -> None:
    replies: list[Any] = [
        [TextPart("x" * 40_000), EndPart(Finish.STOP)],
        [TextPart("half"), EndPart(Finish.LENGTH)],
        [TextPart("no"), EndPart(Finish.REFUSED)],
        [EndPart(Finish.STOP)],
    ]
    tools = Caller(repo, model=ScriptedModel(replies))
    said = [tools.ok("ask_smart_friend", question="?") for _ in replies]
    assert said[0].endswith("… 10000 characters omitted …")
    assert said[1:] == [
        "half\n(the answer was truncated at its length limit)",
        "no\n(it declined to continue)",
        "(empty reply)",
    ]


def test_a_model_that_fails_is_tried_again_and_then_said(repo: Path) -> None:
    slow = ModelRateLimited("slow down")
    slow.retryable, slow.retry_after = True, 0.0
    down = ModelUnreachable("nobody there", hint="start the server")
    down.retryable = False
    tools = Caller(repo, model=ScriptedModel([slow, "at last", down]))
    assert tools.ok("ask_smart_friend", question="?") == "at last"
    assert tools.fails("ask_smart_friend", question="?") == "builtin did not answer: nobody there\nstart the server"
