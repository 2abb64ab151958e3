"""What the gate must answer, told from the rules alone: plain tables of strings, written by hand.

Nothing of the program is imported here, so a mistake in the gate cannot repeat itself in what it is measured by.
`expected` speaks of calls inside the project that name no protected path and no secret.
"""

WORK_MODES = ("chat", "plan", "build", "review", "repair", "research")
RUN_CONTROLS = ("manual", "assisted", "autonomous")
PROFILES = ("restricted", "normal", "trusted", "unrestricted")
MODEL_MODES = ("fast", "smart", "deep")
SURFACES = ("tui", "web", "headless", "rpc")
SANDBOXES = ("bwrap", "partial", "none")
EFFECTS = (
    "read",
    "edit",
    "execute",
    "build",
    "install",
    "commit",
    "fetch",
    "network",
    "outside",
    "destroy",
    "publish",
)

# effect: the profiles at which it proceeds unasked, R N T U
UNASKED = {
    "read": "RNTU",
    "fetch": "RNTU",
    "edit": "NTU",
    "execute": "NTU",
    "build": "TU",
    "install": "TU",
    "commit": "TU",
    "network": "U",
    "outside": "",
    "destroy": "",
    "publish": "",
}

# effect: what chat | plan, review and research | build and repair say of it
BY_PROFILE, ASK, DENY, ARTIFACT = "by profile", "ask", "deny", "own artifact only"
WORK = {
    "read": (BY_PROFILE, BY_PROFILE, BY_PROFILE),
    "fetch": (BY_PROFILE, BY_PROFILE, BY_PROFILE),
    "edit": (ASK, ARTIFACT, BY_PROFILE),
    "execute": (ASK, BY_PROFILE, BY_PROFILE),
    "build": (ASK, BY_PROFILE, BY_PROFILE),
    "install": (ASK, DENY, BY_PROFILE),
    "commit": (ASK, DENY, BY_PROFILE),
    "network": (ASK, BY_PROFILE, BY_PROFILE),
    "outside": (ASK, DENY, BY_PROFILE),
    "destroy": (ASK, DENY, BY_PROFILE),
    "publish": (ASK, DENY, BY_PROFILE),
}
COLUMN = {"chat": 0, "plan": 1, "review": 1, "research": 1, "build": 2, "repair": 2}
OPENS_THE_NETWORK = {"network", "install", "publish"}
RUNS_THE_PROJECT = {"execute", "build"}
WHOLE_SANDBOX_ONLY = {"execute", "build", "install", "commit"}  # never unasked without one

# tool: the least profile it is any use in, and the most a call may do
TOOLS = {
    "menu_list": ("restricted", ""),
    "menu_enter": ("restricted", ""),
    "menu_exit": ("restricted", ""),
    "complete": ("restricted", ""),
    "think": ("restricted", ""),
    "message_user": ("restricted", ""),
    "request_tools": ("restricted", ""),
    "list_secrets": ("restricted", ""),
    "use_skill": ("restricted", "read"),
    "find_skills": ("restricted", ""),
    "check_skill_result": ("restricted", ""),
    "wait": ("restricted", ""),
    "bash_output": ("restricted", ""),
    "kill_shell": ("restricted", ""),
    "TodoCreate": ("restricted", ""),
    "TodoRead": ("restricted", ""),
    "TodoStart": ("restricted", ""),
    "TodoClaim": ("restricted", ""),
    "advance_phase": ("restricted", ""),
    "return_to_fix_phase": ("restricted", ""),
    "get_phase_status": ("restricted", ""),
    "Read": ("restricted", "read"),
    "ask_smart_friend": ("restricted", ""),
    "visual_checker": ("restricted", "read"),
    "lsp_tool": ("restricted", "read"),
    "librarian": ("restricted", "read"),
    "librarian_search": ("restricted", "read"),
    "grep": ("restricted", "read"),
    "glob": ("restricted", "read"),
    "fs_read_file": ("restricted", "read"),
    "fs_list_directory": ("restricted", "read"),
    "fs_file_info": ("restricted", "read"),
    "git_status": ("restricted", "read"),
    "git_diff_unstaged": ("restricted", "read"),
    "git_diff_staged": ("restricted", "read"),
    "git_diff": ("restricted", "read"),
    "git_log": ("restricted", "read"),
    "git_show": ("restricted", "read"),
    "git_branch_list": ("restricted", "read"),
    "web_search": ("restricted", "fetch"),
    "web_get_contents": ("restricted", "fetch"),
    "browser_navigate": ("restricted", "read fetch"),
    "browser_restart": ("restricted", "read fetch"),
    "browser_view": ("restricted", "fetch"),
    "browser_scroll": ("restricted", "fetch"),
    "browser_screenshot": ("restricted", "fetch"),
    "browser_move_mouse": ("restricted", "fetch"),
    "browser_set_mobile": ("restricted", "fetch"),
    "recording_start": ("restricted", "fetch"),
    "recording_stop": ("restricted", "fetch"),
    "browser_console": ("restricted", "fetch network"),
    "browser_click": ("restricted", "network"),
    "browser_type": ("restricted", "network"),
    "browser_press_key": ("restricted", "network"),
    "browser_select_option": ("restricted", "network"),
    "browser_select_file": ("restricted", "read network"),
    "git_view_pr": ("restricted", "fetch"),
    "git_pr_checks": ("restricted", "fetch"),
    "git_ci_job_logs": ("restricted", "fetch"),
    "list_repos": ("restricted", "fetch"),
    "git_create_pr": ("normal", "publish"),
    "git_update_pr_description": ("normal", "publish"),
    "git_comment_on_pr": ("normal", "publish"),
    "Edit": ("normal", "edit"),
    "find_symbol": ("restricted", "read"),
    "find_references": ("restricted", "read"),
    "search_code": ("restricted", "read"),
    "repo_map": ("restricted", "read"),
    "recall": ("restricted", "read"),
    "run_helpers": ("restricted", "read edit"),
    "lsp_edit": ("normal", "edit"),
    "Write": ("normal", "edit"),
    "fs_write_file": ("normal", "edit"),
    "fs_create_directory": ("normal", "edit"),
    "fs_move": ("normal", "edit"),
    "fs_delete": ("normal", "destroy"),
    "git_add": ("normal", "commit"),
    "git_commit": ("normal", "commit"),
    "git_reset": ("normal", "commit"),
    "git_create_branch": ("normal", "commit"),
    "git_checkout": ("normal", "edit commit"),
    "bash": ("restricted", "read edit execute build install commit network outside destroy publish"),
    "TodoVerify": ("restricted", "read edit execute build install commit fetch network outside destroy publish"),
    "deploy": ("normal", "read edit execute build install commit network outside destroy publish"),
    "analyze_test_failure": ("normal", "build"),
    "mcp_tool": ("restricted", "fetch network"),
    "write_to_shell": ("normal", "read edit execute build install commit network outside destroy publish"),
}
SHELL_LINES = {"bash", "write_to_shell", "TodoVerify", "deploy"}  # tools whose call is a shell line

SERVERS_CALLS = {"mcp_tool"}  # tools by which another program does what it likes: asked, unless a rule names it

# What code that nobody read may be given without more approval than a program needs.
THE_PROJECT_ALONE = {"read", "fetch", "edit", "execute", "build"}

Dials = tuple[str, str, str, str, str]


def settled(
    effects: frozenset[str],
    sandbox: str,
    *,
    opaque: bool,
    deletes: bool,
    destroys: bool,
    kept: bool,
    denied: bool,
) -> frozenset[str]:
    """What a line that counts as destroy counts as in its sandbox, and with what it deletes kept or not.

    `denied`: a deny rule on shell lines exists, which code that nobody read could get round.
    """
    if sandbox != "bwrap" or destroys or not (opaque or deletes) or (deletes and not kept):
        return effects
    needs = effects - {"destroy"}
    if opaque and (denied or needs - THE_PROJECT_ALONE):
        return effects
    return needs | ({"edit"} if deletes else set()) | ({"execute"} if opaque else set())


def shown(tool: str, dials: Dials) -> bool:
    profile, effects = TOOLS[tool]
    useless = tool not in SHELL_LINES and any(WORK[effect][COLUMN[dials[0]]] == DENY for effect in effects.split())
    return PROFILES.index(profile) <= PROFILES.index(dials[2]) and not useless


def expected(
    tool: str,
    effects: frozenset[str],
    dials: Dials,
    sandbox: str,
    person: bool,
    *,
    artifact: bool = False,
    plain: bool = False,
) -> str:
    """allow, ask or deny; `artifact`: the call writes nothing but what its work mode is there to leave behind.

    `plain`: a shell line of which the closed table says that it reads. `person` changes nothing: what is asked with
    nobody attached stays asked, and is not run.
    """
    work_mode, run_control, profile, _model_mode, _surface = dials
    says = {WORK[effect][COLUMN[work_mode]] for effect in effects}
    line = tool in SHELL_LINES
    uncontained = line and sandbox != "bwrap" and not (plain and effects == {"read"})

    if not shown(tool, dials):
        return "deny"
    if DENY in says or (ARTIFACT in says and not artifact):
        return "deny"
    if uncontained and sandbox == "none" and (COLUMN[work_mode] == 1 or profile == "restricted"):
        return "deny"

    if ASK in says:
        return "ask"
    if tool in SERVERS_CALLS and "network" in effects:
        return "ask"
    if any(profile[0].upper() not in UNASKED[effect] for effect in effects):
        return "ask"
    # A line goes unasked only where something holds it to what it is judged to do, or where it plainly reads.
    if uncontained:
        return "ask"
    if sandbox != "bwrap" and effects & WHOLE_SANDBOX_ONLY:
        return "ask"
    # What the project says to run goes unasked only where it can neither be heard outside nor change the repository.
    if effects & RUNS_THE_PROJECT and effects & (OPENS_THE_NETWORK | {"commit"}):
        return "ask"
    if run_control == "manual" and effects:
        return "ask"
    return "allow"
