"""The flags by which an AI CLI is told what it may do: behind Quintet's walls nothing holds it, else its own do.

Sandboxes do not nest: behind bubblewrap a CLI's own sandbox is off and nothing is left to approve, at every profile,
for the walls are built from the grant. Without bubblewrap its own protection stays on and follows the profile; only
unrestricted lets go of it. A planner or verifier that must leave the project alone is never let go of there.
"""

from __future__ import annotations

from quintet.domain.dials.axes import PermissionProfile

CODEX_BYPASS = ("--dangerously-bypass-approvals-and-sandbox",)
CLAUDE_BYPASS = ("--dangerously-skip-permissions",)
GEMINI_BYPASS = ("--approval-mode", "yolo", "--skip-trust")

BYPASS: dict[str, tuple[str, ...]] = {"codex": CODEX_BYPASS, "claude": CLAUDE_BYPASS, "gemini": GEMINI_BYPASS}

OWN_WALLS: dict[str, dict[PermissionProfile, tuple[str, ...]]] = {
    "codex": {
        PermissionProfile.RESTRICTED: ("--sandbox", "read-only"),
        PermissionProfile.NORMAL: ("--sandbox", "workspace-write"),
        PermissionProfile.TRUSTED: (
            *("--sandbox", "workspace-write"),
            *("-c", "sandbox_workspace_write.network_access=true"),
        ),
        PermissionProfile.UNRESTRICTED: CODEX_BYPASS,
    },
    "claude": {
        PermissionProfile.RESTRICTED: (
            *("--permission-mode", "default"),
            *("--disallowedTools", "Bash,Edit,Write,NotebookEdit"),
        ),
        PermissionProfile.NORMAL: ("--permission-mode", "acceptEdits"),
        PermissionProfile.TRUSTED: ("--permission-mode", "acceptEdits", "--allowedTools", "Bash"),
        PermissionProfile.UNRESTRICTED: CLAUDE_BYPASS,
    },
    "gemini": {
        PermissionProfile.RESTRICTED: ("--approval-mode", "default"),
        PermissionProfile.NORMAL: ("--approval-mode", "auto_edit"),
        PermissionProfile.TRUSTED: ("--approval-mode", "auto_edit", "--allowed-tools", "run_shell_command"),
        PermissionProfile.UNRESTRICTED: GEMINI_BYPASS,
    },
}


def permission_flags(cli: str, profile: PermissionProfile, *, contained: bool) -> tuple[str, ...]:
    """What an executor that may change the project is started with; `contained` is to be behind bubblewrap."""
    return BYPASS[cli] if contained else OWN_WALLS[cli][profile]


def reading_flags(cli: str, folder: str) -> tuple[str, ...] | None:
    """The same for one that may write to `folder` alone, outside bubblewrap; None where its own protection cannot."""
    if cli == "codex":
        return ("--sandbox", "workspace-write", "--cd", folder) if folder else ("--sandbox", "read-only")
    if cli == "claude":
        rules = f"Edit(/{folder}/**),Write(/{folder}/**)"  # //path is what it calls an absolute path
        written = ("--allowedTools", rules, "--add-dir", folder) if folder else ()
        return ("--permission-mode", "default", *written, "--disallowedTools", "Bash,NotebookEdit")
    return None if folder else ("--approval-mode", "plan")
