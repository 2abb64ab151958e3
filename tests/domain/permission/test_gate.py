"""The gate, against tables written by hand; and what a model is told proceeds unasked is what the gate lets pass."""

from itertools import product

import pytest

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.permission import gate
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox, Terms, Verdict, decide, visible
from quintet.domain.shell.judge import with_lines
from quintet.domain.turn.tool_spec import Touch

ROOT = "/project"
GRAMMAR = BashGrammar()
BASH = BY_NAME["bash"]

# profile → the effects that need no question, in build and repair
UNASKED = {
    "restricted": "read fetch",
    "normal": "read fetch edit execute",
    "trusted": "read fetch edit execute build install commit",
    "unrestricted": "read fetch edit execute build install commit network",
}


def verdict(
    effects: set[Effect],
    axes: Axes,
    *,
    person: bool = True,
    sandbox: Sandbox = Sandbox.BWRAP,
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
) -> Verdict:
    touch = Touch(frozenset(effects), reads, writes)
    return decide(BASH, touch, axes, Terms(root=ROOT, person=person, sandbox=sandbox)).verdict


@pytest.mark.parametrize(("profile", "effect"), list(product(PermissionProfile, Effect)))
def test_s3_5_in_build_the_profile_alone_says_what_is_asked(profile: PermissionProfile, effect: Effect) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, profile)
    expected = Verdict.ALLOW if effect in UNASKED[profile].split() else Verdict.ASK
    assert verdict({effect}, axes) is expected


@pytest.mark.parametrize(
    ("work_mode", "effect"), list(product((WorkMode.PLAN, WorkMode.REVIEW, WorkMode.RESEARCH), Effect))
)
def test_the_reading_work_modes_change_nothing_at_any_profile(work_mode: WorkMode, effect: Effect) -> None:
    axes = Axes(work_mode, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    allowed = {Effect.READ, Effect.FETCH, Effect.EXECUTE, Effect.BUILD, Effect.NETWORK}
    assert verdict({effect}, axes) is (Verdict.ALLOW if effect in allowed else Verdict.DENY)


@pytest.mark.parametrize("sandbox", Sandbox)
def test_s3_what_changes_nothing_cannot_write_wherever_the_dials_stand(sandbox: Sandbox) -> None:
    terms = Terms(root=ROOT, person=True, sandbox=sandbox, read_only="task a changes nothing (mutation: none)")
    reading = {Effect.READ, Effect.FETCH, Effect.EXECUTE, Effect.BUILD, Effect.NETWORK}
    for work_mode, control, profile, effect in product(WorkMode, RunControl, PermissionProfile, Effect):
        made = decide(BASH, Touch(frozenset({effect})), Axes(work_mode, control, profile), terms)
        assert made.grant.write_roots == ()
        if effect not in reading:
            assert made.verdict is Verdict.DENY and made.reason.startswith("task a changes nothing"), made


@pytest.mark.parametrize(("profile", "effect"), list(product(PermissionProfile, Effect)))
def test_in_chat_every_change_asks_whatever_the_profile(profile: PermissionProfile, effect: Effect) -> None:
    axes = Axes(WorkMode.CHAT, RunControl.AUTONOMOUS, profile)
    reading = effect in (Effect.READ, Effect.FETCH)
    assert verdict({effect}, axes) is (Verdict.ALLOW if reading else Verdict.ASK)


@pytest.mark.parametrize("effect", [Effect.OUTSIDE, Effect.DESTROY, Effect.PUBLISH])
@pytest.mark.parametrize("control", RunControl)
def test_s3_5_1_the_safety_harness_asks_regardless_of_profile(effect: Effect, control: RunControl) -> None:
    axes = Axes(WorkMode.BUILD, control, PermissionProfile.UNRESTRICTED)
    assert verdict({effect}, axes) is Verdict.ASK


def test_s3_4_manual_asks_for_each_step() -> None:
    assert verdict({Effect.READ}, Axes(WorkMode.BUILD, RunControl.MANUAL, PermissionProfile.TRUSTED)) is Verdict.ASK


@pytest.mark.parametrize("sandbox", [Sandbox.PARTIAL, Sandbox.NONE])
@pytest.mark.parametrize("profile", PermissionProfile)
@pytest.mark.parametrize("effect", Effect)
def test_without_a_whole_sandbox_no_command_goes_unasked(
    effect: Effect, profile: PermissionProfile, sandbox: Sandbox
) -> None:
    for work_mode in WorkMode:
        assert verdict({effect}, Axes(work_mode, RunControl.AUTONOMOUS, profile), sandbox=sandbox) is not Verdict.ALLOW


def test_without_any_sandbox_restricted_and_the_reading_modes_deny() -> None:
    for axes in (
        Axes(WorkMode.REVIEW, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED),
        Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED),
    ):
        for effect in (Effect.READ, Effect.BUILD, Effect.EXECUTE):
            assert verdict({effect}, axes, sandbox=Sandbox.NONE) is Verdict.DENY


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".git/config", "sub/.git/hooks/x", ".quintet/settings.toml"])
def test_protected_paths_are_never_written(path: str) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    assert verdict({Effect.EDIT}, axes, writes=(path,)) is Verdict.DENY
    assert verdict({Effect.EDIT}, axes, writes=(f"{ROOT}/{path}",)) is Verdict.DENY


@pytest.mark.parametrize("path", [".env", "conf/.env.local", "key.pem", "/root/.ssh/id_rsa", "x/id_ed25519", ".netrc"])
def test_secrets_are_never_read(path: str) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    assert verdict({Effect.READ}, axes, reads=(path,)) is Verdict.DENY


def shell_verdict(line: str, axes: Axes) -> Verdict:
    touch, lines = with_lines(BASH.touch({"command": line, "exec_dir": ""}), GRAMMAR.parse)
    return decide(BASH, touch, axes, Terms(root=ROOT, person=True, sandbox=Sandbox.BWRAP), lines=lines).verdict


@pytest.mark.parametrize("line", ["cat .env", "grep -f.env x", "git show HEAD:.env", "diff --from-file=.env a"])
def test_a_shell_line_that_names_a_secret_is_not_run(line: str) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    assert shell_verdict(line, axes) is Verdict.DENY


@pytest.mark.parametrize("path", [".env.example", "id_ed25519.pub", "src/env.py", "identity.py"])
def test_what_only_looks_like_a_secret_is_read(path: str) -> None:
    assert verdict({Effect.READ}, Axes(WorkMode.BUILD, RunControl.AUTONOMOUS), reads=(path,)) is Verdict.ALLOW


@pytest.mark.parametrize("path", ["../other/file", "/etc/passwd", "a/../../b"])
def test_reading_outside_the_project_asks(path: str) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    assert verdict({Effect.READ}, axes, reads=(path,)) is Verdict.ASK


def test_s3_5_1_a_tool_below_its_profile_is_hidden_and_an_error_if_called() -> None:
    edit = BY_NAME["Edit"]
    restricted = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)
    assert not visible(edit, restricted)
    touch = Touch(frozenset({Effect.EDIT}), writes=("a.py",))
    assert decide(edit, touch, restricted, Terms(root=ROOT, person=True)).verdict is Verdict.DENY


def test_a_denied_call_carries_no_grant_and_an_allowed_one_only_what_it_needs() -> None:
    build = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
    read = decide(BASH, Touch(frozenset({Effect.READ})), build, Terms(root=ROOT, person=False))
    assert read.grant == Grant((Effect.READ,), (), False)
    install = decide(BASH, Touch(frozenset({Effect.INSTALL})), build, Terms(root=ROOT, person=False))
    assert install.grant == Grant((Effect.INSTALL,), (ROOT,), True)
    denied = decide(BASH, Touch(frozenset({Effect.READ}), reads=(".env",)), build, Terms(root=ROOT, person=False))
    assert denied.grant == Grant()


@pytest.mark.parametrize(
    "line", ["cat .e*", "cat {.env,x}", "cat ~/.ssh/config", "cd .git && echo x > config", "rm -rf .git"]
)
def test_a_shell_line_cannot_spell_its_way_to_what_is_protected(line: str) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    assert shell_verdict(line, axes) is Verdict.DENY


@pytest.mark.parametrize("line", ["cat ../x", "cat ~/x", "cp a /tmp/b", "echo x > ~/y", "cd src; cat ../x", "cd; ls x"])
def test_a_shell_line_that_leaves_the_project_asks(line: str) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    assert shell_verdict(line, axes) is Verdict.ASK


@pytest.mark.parametrize("line", ["cd src && cat ../x", "cat *", "ls src/*", "echo .env >> .gitignore", "cp a b"])
def test_a_shell_line_that_stays_in_the_project_does_not(line: str) -> None:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    assert shell_verdict(line, axes) is Verdict.ALLOW


@pytest.mark.parametrize("person", [True, False])
def test_what_is_told_to_proceed_unasked_is_allowed_and_the_rest_is_not(person: bool) -> None:
    terms = Terms("/project", person=person, sandbox=Sandbox.BWRAP)
    for work_mode, control, profile, effect in product(WorkMode, RunControl, PermissionProfile, Effect):
        axes = Axes(work_mode, control, profile, ModelMode.SMART, Surface.TUI)
        verdict = gate.decide(BY_NAME["bash"], Touch(frozenset({effect})), axes, terms).verdict
        if effect in gate.unasked(axes):
            assert verdict is Verdict.ALLOW, (axes, effect)
        elif work_mode in (WorkMode.BUILD, WorkMode.REPAIR, WorkMode.CHAT):
            assert verdict is not Verdict.ALLOW, (axes, effect)


SHOWN = ("/usr", "/etc", "/bin", "/proc/cpuinfo")
READ_AXES = Axes(WorkMode.PLAN, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)


def reading(tool: str, path: str, sandbox: Sandbox = Sandbox.BWRAP) -> gate.Decision:
    touch = Touch(frozenset({Effect.READ}), (path,))
    return decide(BY_NAME[tool], touch, READ_AXES, Terms(ROOT, True, sandbox, shown=SHOWN, home="/home/ada"))


@pytest.mark.parametrize("path", ["/usr/include/stdio.h", "/etc/os-release", "/etc/passwd", "/bin/ls", "/proc/cpuinfo"])
def test_a1_a_command_reads_what_its_sandbox_shows_anyway(path: str) -> None:
    decision = reading("bash", path)
    assert decision.verdict is Verdict.ALLOW and decision.grant.read_roots == ()
    assert reading("bash", path, Sandbox.PARTIAL).verdict is Verdict.ASK
    assert reading("bash", path, Sandbox.NONE).verdict is Verdict.DENY  # plan, restricted


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/include/stdio.h", "allow"),
        ("/etc/os-release", "allow"),
        ("/etc/hosts", "allow"),
        ("/etc/passwd", "ask"),
        ("/bin/ls", "ask"),
        ("/usr/../etc/passwd", "ask"),
        ("/usr/../home/ada/notes.txt", "ask"),
        ("/usrlocal/x", "ask"),
        ("/tmp/x", "ask"),
        ("~/notes.txt", "ask"),
        ("/home/ada/.ssh/id_rsa", "deny"),
        ("/usr/share/.ssh/id_rsa", "deny"),
    ],
)
def test_a1_a_file_tool_which_runs_outside_the_sandbox_reads_less_of_it(path: str, expected: str) -> None:
    assert str(reading("Read", path).verdict) == expected
    assert str(reading("Read", path, Sandbox.PARTIAL).verdict) != "allow"


def test_what_a_yes_shows_of_the_home_is_named_by_its_place() -> None:
    assert reading("bash", "~/notes.txt").grant.read_roots == ("/home/ada/notes.txt",)


def meant_in_bwrap(line: str, there: set[str]) -> tuple[str, ...]:
    touch = BASH.touch({"command": line, "exec_dir": ""})
    return with_lines(touch, GRAMMAR.parse, is_there=there.__contains__)[0].reads


def test_a1_the_home_of_a_command_is_an_empty_one() -> None:
    assert meant_in_bwrap("ls ~", {"~", "/tmp"}) == ()
    assert meant_in_bwrap("cat ~/.cache/x/y", set()) == ()
    assert meant_in_bwrap("cat ~/notes.txt", {"~/notes.txt"}) == ("~/notes.txt",)  # asks: this one may be meant
    assert meant_in_bwrap("cat ~/../x", set()) == ("/x",)
