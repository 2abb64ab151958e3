"""An image that a tool read reaches the model, and journal and recording hold its digest."""

import base64
from pathlib import Path

import msgspec

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Role
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2000


def test_a_model_sees_the_image_it_read_and_the_journal_holds_its_digest(repo: Path, tmp_path: Path) -> None:
    (repo / "shot.png").write_bytes(PNG)
    both = [call("Read", file_path="shot.png"), call("Read", file_path="tally/count.py")]
    model = ScriptedModel([both, "It is red."])

    async def script(driver: Driver) -> None:
        assert (await driver.turn("what is in shot.png?")).status == "done"

    driver = drive(repo, script, model)
    image, text = map(msgspec.json.encode, driver.of(p.ToolFinished))
    assert b'"images":[{"media_type":"image/png","digest":"' in image
    assert len(image) < 1000
    assert b"images" not in text  # a journal without images is as it was before there were any
    results = [m for m in model.requests[1].messages if m.role is Role.TOOL and m.images]
    assert [base64.b64decode(image.data) for message in results for image in message.images] == [PNG]
    runs = [path for path in (tmp_path / "state").rglob("*") if path.is_file() and "runs" in path.parts]
    assert runs
    assert sum(path.stat().st_size for path in runs) < 200_000


def test_pictures_that_an_input_names_are_shown_to_the_model(repo: Path, tmp_path: Path) -> None:
    (repo / "shot.png").write_bytes(PNG)
    (tmp_path / "outside.png").write_bytes(PNG)
    (repo / "link.png").symlink_to(tmp_path / "outside.png")
    (repo / "words.png").write_text("no picture")
    model = ScriptedModel(["a dot"])

    async def script(driver: Driver) -> None:
        await driver.turn(f"what is in @shot.png, {tmp_path}/outside.png, @link.png, @words.png and @gone.png?")

    driver = drive(repo, script, model)
    (image,) = driver.of(p.TurnStarted)[0].images or ()
    assert (image.media_type, image.size) == ("image/png", len(PNG))
    (shown,) = model.requests[0].messages[1].images
    assert shown.media_type == "image/png"
