"""What AI CLIs are told they may do, and what their words about errors mean."""

from datetime import datetime

import pytest

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.tasks.executors import AI_CLIS, ExecutorFailure
from quintet.features.ai_clis.dialect import BYPASS, permission_flags, reading_flags
from quintet.features.ai_clis.errors import ExecutorFault, by_status, judge

NOW = datetime.fromisoformat("2026-03-05T14:00:00+00:00")
RESTRICTED, NORMAL, TRUSTED, UNRESTRICTED = PermissionProfile
CODEX_NETWORK = ("-c", "sandbox_workspace_write.network_access=true")
ALL_OF_CLAUDE = ("--disallowedTools", "Bash,Edit,Write,NotebookEdit")


@pytest.mark.parametrize("cli", AI_CLIS)
@pytest.mark.parametrize("profile", PermissionProfile)
def test_behind_our_walls_the_own_ones_are_off_at_every_profile(cli, profile):
    assert permission_flags(cli, profile, contained=True) == BYPASS[cli]


@pytest.mark.parametrize("cli", AI_CLIS)
def test_without_our_walls_only_unrestricted_bypasses_its_own(cli):
    alone = {profile: permission_flags(cli, profile, contained=False) for profile in PermissionProfile}
    assert [profile for profile, flags in alone.items() if flags == BYPASS[cli]] == [UNRESTRICTED]
    words = {word for profile, flags in alone.items() if profile is not UNRESTRICTED for word in flags}
    assert not any("dangerous" in word or word in ("yolo", "--skip-trust", "danger-full-access") for word in words)


@pytest.mark.parametrize(
    ("cli", "profile", "flags"),
    [
        ("codex", RESTRICTED, ("--sandbox", "read-only")),
        ("codex", NORMAL, ("--sandbox", "workspace-write")),
        ("codex", TRUSTED, ("--sandbox", "workspace-write", *CODEX_NETWORK)),
        ("claude", RESTRICTED, ("--permission-mode", "default", *ALL_OF_CLAUDE)),
        ("claude", NORMAL, ("--permission-mode", "acceptEdits")),
        ("claude", TRUSTED, ("--permission-mode", "acceptEdits", "--allowedTools", "Bash")),
        ("gemini", RESTRICTED, ("--approval-mode", "default")),
        ("gemini", NORMAL, ("--approval-mode", "auto_edit")),
        ("gemini", TRUSTED, ("--approval-mode", "auto_edit", "--allowed-tools", "run_shell_command")),
    ],
)
def test_its_own_protection_follows_the_profile(cli, profile, flags):
    assert permission_flags(cli, profile, contained=False) == flags


@pytest.mark.parametrize("cli", AI_CLIS)
@pytest.mark.parametrize("folder", ["", "/state/plans/one"])
def test_a_planner_outside_our_walls_never_gets_the_project_to_write(cli, folder):
    flags = reading_flags(cli, folder)
    if flags is None:
        assert (cli, folder) == ("gemini", "/state/plans/one")  # it cannot tell one folder from another
    else:
        assert not set(flags) & {BYPASS[cli][-1], "acceptEdits", "auto_edit", "yolo"}


SAID = [
    ("unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:35449/v1/responses", "login"),
    ("Failed to authenticate. API Error: 403 forbidden (stub)", "login"),
    ("Invalid API key · Fix external API key", "login"),
    ("Not logged in · Please run /login", "login"),
    ("Missing environment variable: `STUB_KEY`.", "login"),
    ("When using Gemini API, you must specify the GEMINI_API_KEY environment variable.", "login"),
    ('[API Error: {"error":{"code":401,"message":"bad key","status":"UNAUTHENTICATED"}}]', "login"),
    ('[API Error: {"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}]', "login"),
    ("unexpected status 403 Forbidden: Country, region, or territory not supported", "refused"),
    ('[API Error: {"error":{"code":403,"message":"Quota exceeded","status":"PERMISSION_DENIED"}}]', "rate-limit"),
    ("API Error: 403 Your account does not have access to this model", "refused"),
    ('[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}]', "login"),
    ("exceeded retry limit, last status: 429 Too Many Requests: insufficient_quota", "refused"),
    ("exceeded retry limit, last status: 429 Too Many Requests", "rate-limit"),
    ("API Error: Request rejected (429) · rate limited (stub)", "rate-limit"),
    (
        "[API Error: rate limited (stub)]\nPlease wait. Request a quota increase, or switch to another /auth method",
        "rate-limit",
    ),
    ("We’re currently experiencing high demand, which may cause temporary errors.", "unreachable"),
    ("stream disconnected before completion: error sending request", "unreachable"),
    ("Reconnecting... waiting for network (Connection failed: error sending request)", "unreachable"),
    ("API Error: 500 server error (stub). This is a server-side issue, usually temporary", "unreachable"),
    ("API Error: Unable to connect to API (ConnectionRefused)", "unreachable"),
    ("API Error: Unable to connect to API (ECONNRESET)", "unreachable"),
    ("[API Error: exception TypeError: fetch failed sending request]", "unreachable"),
    ("API Error: 529 overloaded", "unreachable"),
    ("unexpected status 400 Bad Request: unknown parameter", "refused"),
    ("unexpected status 404 Not Found: The model `gpt-9` does not exist", "refused"),
    ("Your credit balance is too low", "refused"),
    ("Prompt is too long", "refused"),
]


@pytest.mark.parametrize(("text", "kind"), SAID)
def test_words_become_kinds(text, kind):
    fault = judge(text, NOW)
    assert fault
    assert fault.kind == kind


def test_what_says_nothing_of_a_fault_is_none():
    assert judge("segmentation fault", NOW) is None
    assert judge("the tests on line 4291 fail", NOW) is None
    assert by_status(200) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("You've hit your usage limit. Try again in 2 hours 13 minutes.", 7980),
        ("You've hit your usage limit. Try again in 5 days 3 hours.", 442_800),
        ("Rate limit reached. Please try again in 1.5s.", 1.5),
        ("rate limit: try again in 250ms", 0.25),
        ("quota exceeded, Please retry in 23.5s.", 23.5),
        ('{"code": 429, "retryDelay": "37s"}', 37),
        ("Quota exhausted. Your quota will reset after 7h12m3s.", 25_923),
        ("429, Retry-After: 30", 30),
        ("Claude AI usage limit reached|1772721000", 1800),
        ("5-hour limit reached ∙ resets 3pm", 3600),
        ("usage limit reached, resets 9:30am", 70_200),
        ("You've hit your usage limit. Try again at 3:40 PM.", 6000),
        ("You've hit your usage limit. Try again at Mar 7th, 2026 2:00 PM.", 172_800),
        ("usage limit reached", 0),
        ("usage limit reached, try again at Foo 45th, 2026 3:00 PM", 0),
    ],
)
def test_a_limit_says_when_it_ends(text, seconds):
    assert judge(text, NOW, 429) == ExecutorFault(ExecutorFailure.RATE_LIMIT, pytest.approx(seconds))
