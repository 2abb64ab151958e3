"""What is wrong around Quintet, found by the real program: packages that are not there, a database out of reach."""

from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.features.remote.book import RemoteBook
from quintet.features.remote.values import Account
from tests.app.health.sicknesses import settings
from tests.surfaces.program import Program

HIDDEN = "import sys\nsys.modules['apprise'] = None\n"  # as in an environment without it


def codes(quintet: Program, **variables: str) -> set[str]:
    return {one["code"] for one in quintet.run("doctor", "--json", **variables).json()} - {"SANDBOX_WEAK"}


def test_packages_that_are_not_installed_are_missed_though_others_bring_a_part_of_them(
    quintet: Program, tmp_path: Path
) -> None:
    settings("[observability]\notel = true\n[remote]\nauto = true\n")(quintet.root)
    book = RemoteBook()
    book.pair(Account("apprise", "me", "json://localhost"))
    book.close()
    api = tmp_path / "packages/opentelemetry"  # what other packages need of it sends nothing
    api.mkdir(parents=True)
    (api / "__init__.py").touch()
    (api.parent / "sitecustomize.py").write_text(HIDDEN)
    assert codes(quintet, PYTHONPATH=str(api.parent)) == {"OTEL_MISSING", "REMOTE_MISSING"}


def test_a_database_out_of_reach_is_found(quintet: Program) -> None:
    assert codes(quintet, QUINTET_DATABASE="postgresql://127.0.0.1:9/team") == {"STORE_UNREACHABLE"}


def test_a_database_that_cannot_be_opened_is_found(quintet: Program) -> None:
    quintet.run("-p", "/status").clean(0)
    path = Path(locate(str(quintet.root)).database)
    for each in path.parent.glob("state.db*"):
        each.unlink()
    path.mkdir(mode=0o700)
    assert codes(quintet) == {"STORE_UNWRITABLE"}
