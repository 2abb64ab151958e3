"""The page about remote is run as it is printed, with Telegram on loopback."""

import re
from pathlib import Path

from quintet.features.remote.settings import RemoteDetail
from tests.features.remote.bot_api import OWNER, TOKEN, bot_api
from tests.pages import ROOT, blocks, in_the_tutorials_project
from tests.surfaces.program import Program

PAGE = "docs/howto/remote.md"


def test_the_page_about_remote(tmp_path: Path) -> None:
    reader = in_the_tutorials_project(tmp_path)
    first, looks = blocks(PAGE, "sh")
    servers, links = blocks(PAGE, "toml")
    (shown,) = blocks(PAGE, "text")
    keep, pair = first.splitlines()
    with bot_api() as api:
        reader.sets(f'{servers}{links.partition(chr(10))[2]}telegram_url = "{api.url}"\n')
        program = Program(Path(reader.root))
        words = keep.split()[1:]
        assert program.run(*words, "--file", stdin=TOKEN).code == 0
        process = program.start(*pair.split()[1:])
        assert process.stdout
        printed = [next(process.stdout) for _ in range(3)]
        code = re.search(r"\d{4}-\d{4}-\d{4}", printed[-1])
        assert code, printed
        api.says(f"pair {code[0]}")
        said = "".join([*printed, *process.stdout])
        expected = shown.replace("@your_bot", "@quintet_test_bot").replace("1234-5678-9012", code[0])
        assert said == expected.replace("Ada", f"person {OWNER}")
        listed, tested, revoked = (program.run(*line.split()[1:]) for line in looks.splitlines())
        assert "telegram/42" in listed.out and "sent" in tested.out and revoked.out.startswith("revoked telegram/42")
        assert TOKEN not in said + listed.out + tested.out
        program.close()


def test_the_page_names_every_level_of_detail() -> None:
    page = (ROOT / PAGE).read_text()
    assert all(f"| `{detail}` |" in page for detail in RemoteDetail)
