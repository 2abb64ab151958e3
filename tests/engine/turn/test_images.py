"""An image that a tool read reaches the model, and journal and recording hold its digest."""

import base64
import os
from pathlib import Path

import msgspec
import pytest

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Role
from quintet.testing import ScriptedModel, call
from quintet.tools.images import IMAGE_BYTES
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


def test_a_picture_outside_the_project_comes_along_only_with_a_path_that_a_person_typed(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    outside = tmp_path / "outside.png"
    outside.write_bytes(PNG)
    (tmp_path / "large.png").write_bytes(PNG + bytes(IMAGE_BYTES))
    (tmp_path / "words.png").write_text("no picture")
    os.mkfifo(tmp_path / "pipe.png")
    (repo / "link.png").symlink_to(outside)
    model = ScriptedModel(["a dot"] * 4)
    both = f"compare {outside} and ~/outside.png"
    others = f"{tmp_path}/large.png {tmp_path}/words.png {tmp_path}/pipe.png {repo}/link.png {tmp_path}/gone.png"

    async def script(driver: Driver) -> None:
        await driver.ended(await driver.session.say(both, by_hand=both))
        await driver.ended(await driver.session.say(both))  # from a pipe, a file, the model, another process
        await driver.ended(await driver.session.say(both, by_hand="[pasted 120 lines]"))
        await driver.ended(await driver.session.say(others, by_hand=others))

    driver = drive(repo, script, model)
    shown = [len(event.images or ()) for event in driver.of(p.TurnStarted)]
    assert shown == [2, 0, 0, 0]
    assert [base64.b64decode(image.data) for image in model.requests[0].messages[-1].images] == [PNG, PNG]
    refused = [event.text for event in driver.of(p.Noticed) if event.level == "warning" and event.code == "IMAGE"]
    assert [text.partition(". ")[0].count(".png") for text in refused] == [2, 2, 5]
    assert "paste or drop" in refused[0]
