"""From a key, or a server on this machine, to a delivered edit: by one command or none, nothing written by hand."""

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.domain.models.presets import PRESETS
from tests.loopback import Answer, Asked, Server
from tests.provider import AFTER, CLAUDES, OLLAMAS, provider
from tests.surfaces.program import Program

KEY = "sk-ant-not-for-anybody-else"
EDIT = ("-p", "rename words to tokens in tally/count.py", "--mode", "build", "--permission-profile", "normal")


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with provider(CLAUDES) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with provider(OLLAMAS) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        yield server


def settings_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"], "quintet", "settings.toml")


def everything_below(*folders: Path) -> bytes:
    return b"".join(path.read_bytes() for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())


def edited(quintet: Program) -> bool:
    return AFTER in (quintet.root / "tally/count.py").read_text()


# ── the first minute


def test_with_a_key_in_the_environment_one_command_leads_to_an_edit(
    quintet: Program, anthropic: Server, tmp_path: Path
) -> None:
    key = {"ANTHROPIC_API_KEY": KEY}
    refused = quintet.run("-p", "make it count tokens", **key)
    assert "To connect a model: quintet models use anthropic" in refused.out
    assert anthropic.asked == []  # nothing was sent anywhere unasked

    used = quintet.run("models", "use", "anthropic", **key).clean(0)
    assert used.out.splitlines()[0] == f"  sends your key to 127.0.0.1:{anthropic.port}"
    assert [one.headers["x-api-key"] for one in anthropic.asked] == [KEY] * 4  # the list, and a test of each
    assert settings_file().read_text() == "\n".join(
        [
            *_table("anthropic", CLAUDES[1], anthropic),
            *_table("anthropic-fast", CLAUDES[0], anthropic),
            *_table("anthropic-deep", CLAUDES[2], anthropic),
            '[routing]\nfast = "anthropic-fast"\nsmart = "anthropic"\ndeep = "anthropic-deep"\n',
        ]
    )

    quintet.run(*EDIT, **key).clean(0)
    assert edited(quintet)
    assert KEY.encode() not in everything_below(tmp_path)


def _table(name: str, model: str, server: Server) -> list[str]:
    return [
        f"[models.{name}]",
        'wire = "anthropic"',
        f'base_url = "{server.url}/v1"',
        f'model = "{model}"',
        'api_key_env = "ANTHROPIC_API_KEY"\n',
    ]


def test_with_only_an_ollama_one_command_leads_to_an_edit(quintet: Program, ollama: Server) -> None:
    assert "quintet models use ollama" in quintet.run("models").clean(0).out
    used = quintet.run("models", "use", "ollama").clean(0).out
    assert "No key." in used
    assert 'smart = "ollama"' in settings_file().read_text()
    assert 'model = "qwen2.5-coder:7b"' in settings_file().read_text()
    assert "api_key" not in settings_file().read_text()
    quintet.run(*EDIT).clean(0)
    assert edited(quintet)
    assert not any("authorization" in one.headers for one in ollama.asked)


@pytest.mark.parametrize("name", ["anthropic/claude-x", "ollama/qwen2.5-coder:7b"])
def test_a_model_named_by_its_provider_needs_no_settings(
    quintet: Program, anthropic: Server, ollama: Server, name: str
) -> None:
    quintet.run(*EDIT, "--model", name, ANTHROPIC_API_KEY=KEY).clean(0)
    assert edited(quintet)
    assert not settings_file().exists()
    server = anthropic if name.startswith("anthropic") else ollama
    assert {one.json["model"] for one in server.asked if "/api/" not in one.path} == {name.partition("/")[2]}


def test_a_model_named_by_its_provider_without_its_key_says_what_to_do(quintet: Program, anthropic: Server) -> None:
    refused = quintet.run(*EDIT, "--model", "anthropic/claude-x")
    assert refused.code == 1
    assert "ANTHROPIC_API_KEY is not set" in refused.err
    assert anthropic.asked == []


@pytest.mark.parametrize("kind", ["anthropic", "ollama"])
def test_plain_offers_what_was_found_and_one_key_uses_it(
    quintet: Program, request: pytest.FixtureRequest, kind: str
) -> None:
    server: Server = request.getfixturevalue(kind)
    key = {"ANTHROPIC_API_KEY": KEY} if kind == "anthropic" else {}
    person = quintet.plain("--mode", "build", **key)
    person.sees("No model is configured", f"127.0.0.1:{server.port}", "Press 1")
    person.child.send("1")
    person.sees("Connected", "QUINTET", "› ")
    person.types(EDIT[1])
    person.sees("words is tokens now")
    person.types("/quit")
    assert person.leaves()[0] == 0
    assert edited(quintet)


def test_an_offer_that_was_declined_is_not_made_again(quintet: Program, anthropic: Server, ollama: Server) -> None:
    person = quintet.plain(ANTHROPIC_API_KEY=KEY)
    person.sees("1  Anthropic", "2  Ollama", "Press 1 to 2")
    person.child.send("n")
    person.sees("Offline rules", "› ")
    person.types("/quit")
    person.leaves()
    assert [one for one in anthropic.asked if one.method == "POST"] == []
    again = quintet.plain(ANTHROPIC_API_KEY=KEY)
    assert "Press" not in again.sees("QUINTET")
    again.types("/quit")
    again.leaves()
    assert not settings_file().exists()


# ── what an Ollama says of its models


def test_the_window_of_a_local_model_is_what_its_server_says(quintet: Program, ollama: Server) -> None:
    quintet.run("models", "use", "ollama").clean(0)
    model = tomllib.loads(settings_file().read_text())["models"]["ollama"]
    assert (model["model"], model["context_window"], model["vision"]) == ("qwen2.5-coder:7b", 32_768, False)
    used = quintet.run("models", "use", "ollama", "llama3.2:latest").clean(0).out
    model = tomllib.loads(settings_file().read_text())["models"]["ollama"]
    assert (model["context_window"], model["vision"]) == (8192, True)
    assert "llama3.2:latest cannot call tools" in used


def test_what_a_local_model_is_loaded_with_counts_for_more_than_what_it_could_read(
    quintet: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    with provider(OLLAMAS, loaded={"qwen2.5-coder:7b": 4096}) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        quintet.run("models", "use", "ollama").clean(0)
    assert "context_window = 4096" in settings_file().read_text()


@pytest.mark.parametrize("named", ["settings", "flag", "command"])
def test_a_session_asks_a_local_server_for_the_window_nobody_has_set(
    quintet: Program, ollama: Server, named: str
) -> None:
    if named == "settings":
        table = f'base_url = "http://127.0.0.1:{ollama.port}/v1"\nmodel = "qwen2.5-coder:7b"'
        quintet.settings(f'[routing]\nsmart = "box"\n[models.box]\n{table}\n')
    flags = ("--model", "ollama/qwen2.5-coder:7b") if named == "flag" else ()
    said = "/model ollama/qwen2.5-coder:7b\n/context\n" if named == "command" else "/context\n"
    assert "of 32768" in quintet.run("--plain", *flags, stdin=said).clean(0).out
    assert "/v1/chat/completions" not in ollama.paths


# ── keys


def test_a_key_that_is_piped_in_is_kept_where_only_the_user_reads_it(
    quintet: Program, anthropic: Server, tmp_path: Path
) -> None:
    used = quintet.run("models", "use", "anthropic", "claude-x", "--key-stdin", "--file", stdin=f"{KEY}\n").clean(0)
    kept = settings_file().parent / ".env"
    assert KEY in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert KEY not in used.out + used.err + settings_file().read_text()
    quintet.run(*EDIT).clean(0)
    assert edited(quintet)
    assert KEY.encode() not in everything_below(tmp_path / "repo", tmp_path / "state", tmp_path / "home")
    assert "set" in quintet.run("models").clean(0).out


def test_a_key_that_is_piped_in_and_refused_is_not_kept(quintet: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Answer({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}, 401)
    with provider(answer=lambda asked: refusal) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        refused = quintet.run("models", "use", "anthropic", "--key-stdin", stdin=KEY)
    assert refused.code == 1
    assert "refuses the key" in refused.err
    assert "Nothing was written." in refused.err
    assert list(settings_file().parent.glob("*")) == []


def test_a_command_that_prints_the_key_is_asked_each_time(quintet: Program, anthropic: Server, tmp_path: Path) -> None:
    script = tmp_path / "home" / "key.sh"
    script.write_text(f"#!/bin/sh\necho {KEY}\n")
    script.chmod(0o700)
    quintet.run("models", "use", "anthropic", "claude-x", "--key-command", str(script)).clean(0)
    assert f'api_key_command = "{script}"' in settings_file().read_text()
    quintet.run("models", "test").clean(0)
    script.write_text("#!/bin/sh\necho locked >&2\nexit 3\n")
    (tested,) = quintet.run("models", "test", "--json").clean(1).json()
    assert "ended with exit code 3 (locked)" in tested["error"]


# ── what goes wrong


def failing(status: int, kind: str, message: str = "no") -> Answer:
    return Answer({"type": "error", "error": {"type": kind, "message": message}}, status)


HTML = Answer("<html><body>Please sign in</body></html>")
NO_MODEL = failing(404, "not_found_error", "model: claude-sonet-4-5")


@pytest.mark.parametrize(
    ("arguments", "listing", "asking", "words"),
    [
        ((), failing(401, "authentication_error"), None, "refuses the key from ANTHROPIC_API_KEY"),
        ((), None, failing(401, "authentication_error"), "refuses the key from ANTHROPIC_API_KEY"),
        ((), None, failing(402, "billing_error"), "Add credit at console.anthropic.com"),
        ((), None, failing(429, "rate_limit_error"), "check your limits at console.anthropic.com"),
        ((), HTML, None, "a sign-in page, a proxy or another server"),
        ((), None, HTML, "a sign-in page, a proxy or another server"),
        (("claude-sonnet-4-5-2025092",), None, NO_MODEL, f"Did you mean {CLAUDES[1]}"),
        ((), None, failing(529, "overloaded_error"), "Try again later"),
    ],
)
def test_a_provider_that_refuses_is_explained_and_nothing_is_written(
    quintet: Program,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    listing: Answer | None,
    asking: Answer | None,
    words: str,
) -> None:
    own = quintet.settings("# mine\n[limits]\nmax_turns = 9\n")
    with provider(answer=lambda asked: listing if asked.method == "GET" else asking) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        refused = quintet.run("models", "use", "anthropic", *arguments, ANTHROPIC_API_KEY=KEY)
    assert refused.code == 1
    assert words in refused.err
    assert refused.err.splitlines()[-2].endswith("Nothing was written.")
    assert refused.err.splitlines()[-1].startswith("more: quintet explain ")
    assert KEY not in refused.out + refused.err
    assert own.read_text() == "# mine\n[limits]\nmax_turns = 9\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("use", "antropic"), 2, "Did you mean anthropic?"),
        (("use", "anthropic"), 2, "export ANTHROPIC_API_KEY="),
        (("use", "anthropic", "--key-env", "MY_KEY"), 2, "MY_KEY is not set"),
        (("use", "anthropic", "--key-command", "no-such-program"), 2, "no-such-program was not found"),
        (("use", "anthropic", "--key-stdin"), 2, "pipe the key in"),
        (("use", "azure", "d", "--key-command", "echo k"), 2, "--resource NAME"),
        (("use", "bedrock", "--key-command", "echo k"), 2, "--region"),
        (("use", "vertex"), 2, "quintet install providers"),
        (("use", "ollama"), 1, "ollama serve"),
        (("add",), 2, "--base-url URL"),
        (("add", "x", "--base-url", "http://127.0.0.1:9/v1"), 2, "the model are missing"),
        (("add", "a.b", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--no-test"), 1, "127.0.0.1:9"),
        (("remove", "nobody"), 1, "no model nobody"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    quintet: Program, arguments: tuple[str, ...], code: int, words: str
) -> None:
    refused = quintet.run("models", *arguments, OLLAMA_HOST="127.0.0.1:9")
    assert (refused.code, words in refused.err) == (code, True), refused.err
    assert not settings_file().exists()


def test_a_tier_that_does_not_answer_leaves_its_work_to_smart(
    quintet: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(asked: Asked) -> Answer | None:
        return NO_MODEL if asked.method == "POST" and "opus" in asked.json["model"] else None

    with provider(answer=answer) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        used = quintet.run("models", "use", "anthropic", "--json", ANTHROPIC_API_KEY=KEY)
    assert used.code == 0
    done = json.loads(used.out)
    assert done["routing"] == {"fast": "anthropic-fast", "smart": "anthropic", "deep": "anthropic"}
    assert "claude-opus" in done["notes"][0]
    assert "deep" not in settings_file().read_text()
    assert "sends your key to" in used.err


# ── a model of a provider, named in passing


def test_a_model_named_at_the_command_line_is_used_and_the_host_is_said_first(
    quintet: Program, anthropic: Server
) -> None:
    key = {"ANTHROPIC_API_KEY": KEY}
    done = quintet.run(*EDIT, "--model", f"anthropic/{CLAUDES[1]}", **key).clean(0)
    assert f"sends your key to 127.0.0.1:{anthropic.port}" in done.err
    assert {one.json["model"] for one in anthropic.asked} == {CLAUDES[1]}
    notices = [row for row in quintet.journal() if row["type"] in ("noticed", "model_requested")]
    assert notices[0]["code"] == "KEY_SENT"
    assert edited(quintet)


def test_a_model_named_in_a_session_is_used_and_the_host_is_said_first(quintet: Program, anthropic: Server) -> None:
    name = f"anthropic/{CLAUDES[1]}"
    said = f"/model {name}\nwhat does words do?\n"
    done = quintet.run("--plain", stdin=said, ANTHROPIC_API_KEY=KEY).clean(0)
    assert f"model {name}; sends your key to 127.0.0.1:{anthropic.port}" in done.out
    assert {one.json["model"] for one in anthropic.asked} == {CLAUDES[1]}
    assert {one.headers["x-api-key"] for one in anthropic.asked} == {KEY}
    kinds = [row["type"] for row in quintet.journal()]
    assert kinds.index("command_ran") < kinds.index("model_requested")
    assert quintet.run("replay", quintet.sessions()[0]["session"]).code == 0
    assert not settings_file().exists()


def test_a_model_named_in_a_session_without_its_key_is_refused_at_once(quintet: Program, anthropic: Server) -> None:
    done = quintet.run("--plain", stdin=f"/model anthropic/{CLAUDES[1]}\n/model antropic/x\n")
    assert "ANTHROPIC_API_KEY is not set" in done.out
    assert 'model "antropic/x": not one of builtin' in done.out
    assert anthropic.asked == []


# ── the how-to

HOWTO = Path(__file__).parents[2] / "docs/howto/connect-a-model.md"


def test_the_how_to_has_every_preset_with_its_variables() -> None:
    page = HOWTO.read_text()
    for preset in PRESETS:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{preset.name}` |")]
        assert [name for name in (*preset.keys, *preset.urls) if f"`{name}`" not in row] == []


def test_the_how_to_prints_what_the_command_prints(quintet: Program, anthropic: Server) -> None:
    printed = quintet.run("models", "use", "anthropic", ANTHROPIC_API_KEY=KEY).clean(0).out
    ours = printed.replace(f"127.0.0.1:{anthropic.port}", "api.anthropic.com")
    ours = ours.replace(str(settings_file()), "/home/ada/.config/quintet/settings.toml")
    block = re.findall(r"^```text\n(.*?)^```", HOWTO.read_text(), re.M | re.S)[0]
    assert re.sub(r"in [\d.]+ s", "in", ours) == re.sub(r"in [\d.]+ s", "in", block)


# ── one's own file


def test_comments_and_other_settings_stay_and_a_project_is_not_touched(quintet: Program, ollama: Server) -> None:
    own = quintet.settings(
        '# mine\n[limits] # of a run\nmax_turns = 9\n\n[models.ollama] # the box\nbase_url = "http://127.0.0.1:1/v1"\n'
        'model = "old"\nprice_input = 3.0\ntimeout = 600.0 # slow\n'
    )
    project = quintet.settings('[display]\ncolor = "never"\n', project=True)
    quintet.run("models", "use", "ollama", "llama3.2:latest").clean(0)
    text = own.read_text()
    assert text.startswith("# mine\n[limits] # of a run\nmax_turns = 9\n\n[models.ollama] # the box\n")
    assert "timeout = 600.0 # slow" in text
    assert "price_input" not in text  # that was another model's
    assert project.read_text() == '[display]\ncolor = "never"\n'

    quintet.run("models", "remove", "ollama").clean(0)
    assert own.read_text().strip() == "# mine\n[limits] # of a run\nmax_turns = 9"
    assert [row["name"] for row in quintet.run("models", "--json").clean(0).json()][:1] == ["builtin"]


def test_any_server_is_added_by_flags(quintet: Program, ollama: Server) -> None:
    url = f"{ollama.url}/v1"
    quintet.run("models", "add", "box", "--base-url", url, "--model", "llama3.2:latest").clean(0)
    quintet.run("models", "add", "second", "--base-url", url, "--model", "qwen2.5-coder:7b").clean(0)
    rows = {row["name"]: row for row in quintet.run("models", "--json").clean(0).json()}
    assert rows["box"]["routed"] == ["fast", "smart", "deep", "vision"]
    assert rows["second"]["routed"] == []
    quintet.run("models", "add", "second", "--base-url", url, "--model", "x", "--route", "deep").clean(0)
    assert 'deep = "second"' in settings_file().read_text()
    again = quintet.run("models", "add", "box", "--base-url", url, "--model", "llama3.2:latest").clean(0).out
    assert "box  llama3.2:latest  fast smart  answered" in again, "the routes that it has, not those that are new"


def test_add_asks_step_by_step_at_a_terminal(quintet: Program, anthropic: Server) -> None:
    person = quintet.plain(command=_argv("models", "add"))
    person.sees("anthropic", "llamacpp", "Which one?")
    person.types("anthropic")
    person.sees(f"sent to 127.0.0.1:{anthropic.port}")
    person.types(KEY)
    person.sees("sends your key", CLAUDES[0], "Which one?")
    person.types("2")
    code, rest = person.leaves()
    assert (code, "Connected" in rest, KEY in rest) == (0, True, False)
    assert f'model = "{CLAUDES[1]}"' in settings_file().read_text()


def _argv(*arguments: str) -> tuple[str, ...]:
    from tests.surfaces.program import PROGRAM

    return (*PROGRAM, *arguments)


def test_the_list_has_prices_and_the_last_test(quintet: Program, ollama: Server) -> None:
    quintet.run("models", "use", "ollama").clean(0)
    listed = quintet.run("models", "--json").clean(0).json()[0]
    assert (listed["last_test"]["ok"], listed["prices"]) == (True, None)
    text = settings_file().read_text().replace("[routing]", "price_input = 3.0\nprice_output = 15.0\n[routing]")
    settings_file().write_text(text)
    assert "3/15" in quintet.run("models").clean(0).out


def test_prices_that_the_provider_lists_are_kept(quintet: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    pricing = {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"}
    row = {"id": "anthropic/claude-sonnet-4.5", "pricing": pricing, "context_length": 200000}
    listing = Answer({"data": [row]})
    with provider(answer=lambda asked: listing if asked.method == "GET" else None) as server:
        monkeypatch.setenv("OPENROUTER_BASE_URL", f"{server.url}/api/v1")
        quintet.run("models", "use", "openrouter", OPENROUTER_API_KEY=KEY).clean(0)
    listed = quintet.run("models", "--json", OPENROUTER_API_KEY=KEY).clean(0).json()[0]
    assert listed["prices"] == {"input": 3.0, "cached": 0.3, "output": 15.0}
