"""Read of an image: what the model is shown, what is kept, and what is said of images that cannot be shown."""

import asyncio
import hashlib

import pytest

from quintet.adapters.models.kept_images import ModelWithImages
from quintet.domain.turn.messages import Image, KeptImage, Message, Request, Role
from quintet.testing import ScriptedModel
from quintet.tools.images import FOLDER, IMAGE_BYTES
from tests.tools.calling import Caller

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "image/jpeg"),
        (b"GIF89a" + bytes(20), "image/gif"),
        (b"RIFF\x20\0\0\0WEBPVP8 " + bytes(20), "image/webp"),
    ],
)
def test_an_image_is_shown_by_what_it_is_and_not_by_its_name(tools: Caller, data: bytes, kind: str) -> None:
    (tools.root / "shot.txt").write_bytes(data)
    result = tools("Read", file_path="shot.txt")
    digest = hashlib.sha256(data).hexdigest()
    assert result.images == (KeptImage(kind, digest, len(data)),)
    assert result.content == f"shot.txt: {kind}, {len(data)} bytes"
    outputs = tools.toolbox.outside._bench.outputs
    with open(f"{outputs}/{FOLDER}/{digest}", "rb") as file:
        assert file.read() == data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"BM" + bytes(20), "an image (BMP) of 22 bytes; PNG, JPEG, GIF and WebP can be shown"),
        (PNG + bytes(IMAGE_BYTES), f"an image (image/png) of 5000108 bytes; at most {IMAGE_BYTES} bytes can be shown"),
        (b"\0\1\2", "a binary file of 3 bytes"),
    ],
)
def test_an_image_that_cannot_be_shown_is_said_to_be_none_that_can(tools: Caller, data: bytes, said: str) -> None:
    (tools.root / "odd").write_bytes(data)
    result = tools("Read", file_path="odd")
    assert said in result.content
    assert result.images == ()


def test_a_line_beyond_the_end_of_a_file_is_said_not_to_be_there(tools: Caller) -> None:
    (tools.root / "two.txt").write_text("one\ntwo\n")
    assert tools.ok("Read", file_path="two.txt", offset=3) == "two.txt: it ends at line 2; there is no line 3"


async def _sent(model: ScriptedModel, folder: str, image: KeptImage) -> Message:
    messages = (Message(Role.SYSTEM, "page"), Message(Role.TOOL, "shown", call_id="c", kept=(image,)))
    async for _ in ModelWithImages(model, folder).stream(Request("m", messages)):
        pass
    return model.requests[-1].messages[1]


def sent(model: ScriptedModel, folder: str, image: KeptImage) -> Message:
    """The message that holds the image, as the model got it."""
    return asyncio.run(_sent(model, folder, image))


def test_a_request_gets_the_image_and_a_sentence_where_it_is_gone(tools: Caller) -> None:
    (tools.root / "shot.png").write_bytes(PNG)
    (image,) = tools("Read", file_path="shot.png").images
    folder = f"{tools.toolbox.outside._bench.outputs}/{FOLDER}"
    seen = sent(ScriptedModel(["ok"]), folder, image)
    assert (seen.text, seen.kept, [one.media_type for one in seen.images]) == ("shown", (), ["image/png"])
    assert isinstance(seen.images[0], Image)
    gone = sent(ScriptedModel(["ok"]), "/nowhere", image)
    assert gone.text == "shown\n(an image of 108 bytes, image/png, which is no longer saved)"


def test_a_picture_that_holds_a_known_secret_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("ACME_TOKEN", "canary-7f3a9b2c1d")
    tools: Caller = request.getfixturevalue("tools")
    (tools.root / "x.gif").write_bytes(b"GIF89a" + b"canary-7f3a9b2c1d" + b"\x00" * 20)
    result = tools("Read", file_path="x.gif")
    assert result.images == () and "known secret" in result.content
