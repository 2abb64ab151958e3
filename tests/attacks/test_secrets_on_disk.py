"""What Quintet writes down holds no known secret and no secret file, and nobody else may read it."""

import asyncio
import json
import os
import stat
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.adapters.files.input_history import InputHistory
from quintet.adapters.files.paths import locate
from quintet.adapters.git.checkpoint_store import ShadowCheckpoints
from quintet.app.terminal_ui import at_hand
from quintet.cli.main import main
from quintet.domain.journal import protocol as p
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive

TOKEN = "canary-token-5f1e77a0c2"
IN_FILE = "canary-of-the-file-9b31"

SECRETS = """
.env .env.local .env-prod .env_test prod.env deploy/staging.env app.env.local .envrc .envrc.private .npmrc
sub/.npmrc .pypirc secrets.yml config/secrets.yaml secrets.json secrets.toml secret.json credentials.json
gcp-credentials.json aws_credentials.csv tls/server.key server.pem cert.p12 cert.pfx release.jks
debug.keystore vault.kdbx putty.ppk AuthKey_1.p8 .htpasswd .pgpass .my.cnf .dockercfg .docker/config.json
a/.docker/config.json .kube/config kubeconfig dev.kubeconfig service-account.json service_account_key.json
client_secret_1.json terraform.tfstate x.tfstate.backup prod.tfvars prod.auto.tfvars.json .git-credentials
.netrc _netrc id_rsa id_ed25519_work .ssh/config .aws/config .gnupg/pubring.kbx .azure/dev/config.json
.gcloud/x .config/gcloud/access_tokens.db .config/gh/hosts.yml .cargo/credentials .m2/settings.xml
.codex/auth.json PROD.ENV .Npmrc .SSH/known_hosts
"""
OPEN = """
.env.example .env.sample prod.env.example app.env.template example.env secrets.example.yml secrets.yml.dist
prod.tfvars.example credentials.json.sample id_ed25519.pub credentials.py secrets.py secrets.ts
src/credentials/store.go config/credentials.yml.enc .docker/nginx.conf .kube/deployment.yml docs/keys.md
keyboard.py environment.yml env.py locales/en/auth.json .env.d.ts/x hosts.yml settings.xml config.json monkey
process.env package.json .github/x.yml
"""


@pytest.mark.parametrize("path", str.split(SECRETS))
def test_files_that_hold_secrets_by_custom_are_secret(path: str) -> None:
    assert PROTECTION.is_secret(path) and PROTECTION.is_secret(f"/somewhere/{path}")


@pytest.mark.parametrize("path", str.split(OPEN))
def test_what_only_looks_like_one_is_read(path: str) -> None:
    assert not PROTECTION.is_secret(path)


def test_a_users_word_on_a_name_holds() -> None:
    own = PROTECTION.with_settings(("*.vault",), (".npmrc", "hosts.yml"))
    assert own.is_secret("x.vault") and not own.is_secret("sub/.npmrc") and not own.is_secret(".config/gh/hosts.yml")


@pytest.fixture
def world(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository with secret files that git does not ignore, one of them tracked; and no umask at all."""
    monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    for name in (".env", "prod.env", "sub/.npmrc", "tls/server.key"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(f"SHOP_KEY={IN_FILE}\n")
    (repo / "secrets.yml").write_text(f"key: {IN_FILE}\n")
    subprocess.run(["git", "add", "secrets.yml"], cwd=repo, check=True)
    subprocess.run(["git", "commit", "-qm", "tracked"], cwd=repo, check=True)
    before = os.umask(0)
    yield repo
    os.umask(before)


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file below a folder; git's objects unpacked."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            yield path, data
            if path.suffix == ".pack":
                listed = subprocess.run(
                    ["git", "verify-pack", "-v", str(path)], capture_output=True, text=True, check=True
                ).stdout
                names = [line.split()[0] for line in listed.splitlines() if " blob " in line]
                for name in names:
                    git = ["git", f"--git-dir={path.parents[2]}", "cat-file", "blob", name]
                    yield path, subprocess.run(git, capture_output=True, check=True).stdout
            else:
                try:
                    yield path, zlib.decompress(data)
                except zlib.error:
                    continue


def assert_nothing_in(folder: Path) -> None:
    held = {str(path) for path, data in contents(folder) for secret in (TOKEN, IN_FILE) if secret.encode() in data}
    assert held == set()


def test_a_session_leaves_no_secret_behind_and_nothing_for_others_to_read(world: Path, tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            [call("Write", file_path="new.txt", content="hello\n")],
            [call("bash", command="echo more >> new.txt; mkdir -p made; echo x > made/a.txt")],
            "done",
        ]
    )

    async def script(driver: Driver) -> None:
        await driver.turn(f"deploy with {TOKEN}")
        await driver.command("/session-report")
        ran = await driver.command("/rewind 1")
        lacking = {one["path"]: one["reason"] for one in ran.data["rewind"]["lacking"]}
        assert set(lacking) == {".env", "prod.env", "secrets.yml", "sub/.npmrc", "tls/server.key"}
        assert set(lacking.values()) == {"may contain secrets: not saved"}
        await driver.command("/rewind 1 files")
        assert not (world / "made").exists() and (world / ".env").read_text() == f"SHOP_KEY={IN_FILE}\n"
        assert (world / "secrets.yml").exists()

    driver = drive(world, script, model)
    assert len(driver.of(p.CheckpointTaken)) == 2
    assert_nothing_in(tmp_path / "state")
    for path in [tmp_path / "state" / "quintet", *(tmp_path / "state" / "quintet").rglob("*")]:
        rights = stat.S_IMODE(path.lstat().st_mode)
        if "scratch" in path.parts or ("checkpoints" in path.parts and path.name != "checkpoints"):
            continue  # what commands and git make in their own way, in a folder that is closed
        assert not rights & 0o077, f"{path} {rights:o}"


def test_secrets_that_older_checkpoints_took_in_go_from_the_next_ones(world: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "points")
    everything = PROTECTION.with_settings((), ("*",))

    async def snapshots() -> tuple[set[str], set[str]]:
        old = ShadowCheckpoints(folder, str(world), everything)
        before = await old.snapshot("one")
        new = ShadowCheckpoints(folder, str(world))
        after = await new.snapshot("two")
        return {c.path for c in (await new.compare(before.tree, after.tree)).changes}, set(after.lacking)

    gone, lacking = asyncio.run(snapshots())
    assert gone == lacking == {".env", "prod.env", "secrets.yml", "sub/.npmrc", "tls/server.key"}


def test_tidied_checkpoints_borrow_no_secret_from_the_projects_own_repository(world: Path, tmp_path: Path) -> None:
    folder = tmp_path / "points"

    async def work() -> None:
        kept = ShadowCheckpoints(str(folder), str(world))
        for number in range(3):
            (world / "a.txt").write_text(f"{number}\n")
            await kept.snapshot(f"t{number}")
        await kept.tidy(2)
        await kept.close()

    asyncio.run(work())
    assert_nothing_in(folder)


def test_past_inputs_are_kept_without_known_secrets_and_old_ones_are_mended(world: Path) -> None:
    places = locate(str(world))
    path = Path(places.inputs)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(f"old {TOKEN}") + "\n")
    past = at_hand(str(world)).past
    past.add(f"push with {TOKEN} and {IN_FILE}")
    assert IN_FILE.encode() not in path.read_bytes()
    stars = "*" * len(TOKEN)
    assert past.all() == [f"old {stars}", f"push with {stars} and {'*' * len(IN_FILE)}"]
    assert TOKEN.encode() not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_secret_that_is_set_later_goes_from_past_inputs(world: Path) -> None:
    past = at_hand(str(world)).past
    past.add("use later-canary-4411 please")
    (world / ".env").write_text("LATE_TOKEN=later-canary-4411\n")
    assert past.all() == ["use ***************** please"]
    assert b"later-canary" not in Path(locate(str(world)).inputs).read_bytes()


def test_without_anything_to_hide_history_is_as_it_was(tmp_path: Path) -> None:
    history = InputHistory(str(tmp_path / "x" / "inputs.jsonl"))
    history.add("one")
    assert history.all() == ["one"]


def test_task_pages_hold_no_known_secret_and_are_for_you_alone(world: Path, tmp_path: Path) -> None:
    page = tmp_path / "task.md"
    page.write_text(f"---\nid: T-1\ntitle: Deploy with {TOKEN}\n---\nUse {IN_FILE}.\n")
    assert main(["tasks", "add", str(page), "-C", str(world)]) == 0
    (made,) = (world / ".quintet" / "todo").glob("*.md")
    assert "****" in made.read_text() and stat.S_IMODE(made.stat().st_mode) == 0o600
    assert_nothing_in(world / ".quintet")
    assert_nothing_in(tmp_path / "state")
