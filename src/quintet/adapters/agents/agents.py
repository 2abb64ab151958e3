"""Port `Agents` on the local disk: agents by name or path, and the files of their packages and of the project.

A path is placed by its words first, then opened beneath its folder, so that neither `..` nor a link leads out. An
absolute path has to name something inside; an address, a share or somebody's home never does.
"""

from __future__ import annotations

import os
from typing import Any

from quintet.adapters.agents.catalogue import all_agents, find_agent
from quintet.adapters.agents.classic_workflow import NotClassic, read_classic
from quintet.adapters.agents.package import MANIFEST, installed_variables, read_package, read_single
from quintet.adapters.agents.package_files import FORMATS, PackageFiles, PathLeavesPackage, parsed
from quintet.adapters.agents.workflow_files import read_workflow
from quintet.adapters.files.located_yaml import NotReadable, frontmatter, read_json
from quintet.adapters.files.paths import Places
from quintet.adapters.files.private_files import private_folder
from quintet.adapters.files.real_path import real_path
from quintet.domain.agents.agent import Agent, AgentProblem
from quintet.domain.agents.run import RunErrorCode
from quintet.domain.agents.workflow import AgentPackage, Workflow, filled, is_classic, own_variables, render
from quintet.domain.base.errors import NotFound, RunFailed, UsageError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import did_you_mean
from quintet.domain.permission.protected_paths import PROTECTION, Protection
from quintet.domain.ports.ports import ItemData

_ELSEWHERE = regex(r"[A-Za-z][\w+.-]*:|\\\\|//|~")  # an address, a drive, a share, a home
_PATH = regex(r"[/\\]|\.\w{1,8}\Z")
ARTIFACTS = "artifacts"


class LocalAgents:
    def __init__(self, places: Places, protection: Protection = PROTECTION, *, trusted: bool = False) -> None:
        self._places = places
        self._protection = protection
        self.trusted = trusted

    def listed(self) -> list[tuple[Agent, str]]:
        return [(one.agent, one.origin) for one in all_agents(self._places).agents.values()]

    def find(self, name: str) -> Agent:
        try:
            return find_agent(name, self._places)[0].agent
        except NotFound as error:
            raise RunFailed(RunErrorCode.AGENT_NOT_FOUND, error.message, hint=error.hint) from None
        except UsageError as error:
            raise RunFailed(RunErrorCode.VALIDATION_FAILED, error.message, hint=error.hint) from None

    def other(self, agent: Agent, id: str) -> Agent:
        if id == agent.id:
            return agent
        package, _ = self._package(agent)
        found = package.agent(id) if package else None
        if found is None:
            names = [one.id for one in package.agents] if package else []
            raise RunFailed(
                RunErrorCode.AGENT_NOT_FOUND, f"there is no agent {id} in {agent.package}.{did_you_mean(id, names)}"
            )
        return found

    # ── workflows

    def workflow(self, ref: str, agent: Agent) -> tuple[Workflow, str]:
        if not ref.strip():
            raise RunFailed(RunErrorCode.WORKFLOW_REF_REQUIRED, "no workflow is named")
        root, path = self._placed(ref, agent) if _PATH.search(ref) else (agent.package, "")
        if is_classic(ref):
            return self._classic(PackageFiles(root), path, agent), root
        package, problems = self._package(agent)
        if found := package.workflow(path if path and root == agent.package else ref) if package else None:
            return found, agent.package
        if package is None or problems:
            self._explain(ref, path, agent, problems)
        files = PackageFiles(root)
        if path.endswith(".md") and files.exists(path):
            return self._alone(files, path), files.root
        if path.endswith(".md") and os.path.lexists(os.path.join(root, path)):
            self._read(root, path)  # there, and not to be read: a link that leads out
        names = [workflow.id for workflow in package.workflows] if package else []
        raise RunFailed(
            RunErrorCode.UNKNOWN_WORKFLOW,
            f"there is no workflow {ref} in {agent.package}.{did_you_mean(ref, names)}",
            hint=f"Available: {', '.join(names)}." if names else "It has none.",
        )

    def _classic(self, files: PackageFiles, path: str, agent: Agent) -> Workflow:
        def place(wanted: str) -> tuple[PackageFiles, str]:
            root, inside = self._placed(os.path.join(files.root, wanted), agent)
            return PackageFiles(root), inside

        try:
            return read_classic(files, path, lambda text: self.rendered(text, agent), place)
        except NotClassic as error:
            raise RunFailed(
                RunErrorCode.CLASSIC,
                f"{files.shown(path)} is not a workflow that can be run: {error}",
                hint="A classic workflow is a workflow.yaml with `instructions: FILE`; others are a workflow.md, with "
                "a graph or step files beside it.",
            ) from None

    def _alone(self, files: PackageFiles, path: str) -> Workflow:
        workflow, problems = read_workflow(files, path)
        if workflow is None:
            raise RunFailed(RunErrorCode.VALIDATION_FAILED, "\n".join(map(str, problems)))
        return workflow

    def _explain(self, ref: str, path: str, agent: Agent, problems: list[AgentProblem]) -> None:
        """Say what is wrong with the workflow that was meant, if the package lists it."""
        files = PackageFiles(agent.package)
        listed = self._listed(files)
        for id, workflow, graph in listed:
            if ref != id and (not path or path != os.path.normpath(workflow)):
                continue
            if not files.exists(workflow):
                raise RunFailed(RunErrorCode.WORKFLOW_FILE_NOT_FOUND, f"{files.shown(workflow)}: there is no such file")
            if graph and not files.exists(graph):
                raise RunFailed(RunErrorCode.GRAPH_FILE_NOT_FOUND, f"{files.shown(graph)}: there is no such file")
        beside = path or f"workflows/{ref}/workflow.md"
        folder = os.path.dirname(files.shown(beside)) + os.sep
        mine = [problem for problem in problems if problem.file.startswith(folder) and not problem.noted]
        if mine and folder != files.root + os.sep:
            raise RunFailed(RunErrorCode.VALIDATION_FAILED, "\n".join(map(str, mine)))

    def _listed(self, files: PackageFiles) -> list[tuple[str, str, str]]:
        """The workflows that the manifest lists: id, file, graph."""
        if not files.exists(MANIFEST):
            return []
        try:
            value = read_json(files.text(MANIFEST)).value
        except NotReadable as error:
            problem = f"{files.shown(MANIFEST)}:{error.line}: {error.problem}"
            raise RunFailed(RunErrorCode.MANIFEST_INVALID, problem) from None
        rows = value.get("workflows", []) if isinstance(value, dict) else None
        if not isinstance(rows, list):
            raise RunFailed(RunErrorCode.MANIFEST_INVALID, f"{files.shown(MANIFEST)}: workflows must be a list")
        fields = [row for row in rows if isinstance(row, dict)]
        return [tuple(str(row.get(name) or "") for name in ("id", "workflow", "graph")) for row in fields]  # type: ignore[misc]

    def _package(self, agent: Agent) -> tuple[AgentPackage | None, list[AgentProblem]]:
        if not os.path.isdir(self._places.root):
            raise RunFailed(RunErrorCode.PROJECT_ROOT_INVALID, f"{self._places.root}: this folder no longer exists")
        if not os.path.isdir(agent.package):
            raise RunFailed(RunErrorCode.PACKAGE_NOT_FOUND, f"{agent.package}: this folder no longer exists")
        found = read_package(agent.package)
        if found.package is None and not os.path.exists(os.path.join(agent.package, MANIFEST)):
            found = read_single(agent.package, os.path.relpath(agent.source, agent.package))
        return found.package, found.problems

    # ── files

    def text(self, path: str, agent: Agent) -> tuple[str, dict[str, Any], str]:
        root, inside = self._placed(path, agent)
        whole = os.path.join(root, inside)
        try:
            fields, body = frontmatter(self._read(root, inside))
        except NotReadable as error:
            raise RunFailed(RunErrorCode.VALIDATION_FAILED, f"{whole}:{error.line}: {error.problem}") from None
        return whole, fields.value, _filled(body, fields.value, PackageFiles(root), inside)

    def step(self, path: str, root: str) -> str:
        files = PackageFiles(root)
        try:
            fields, body = frontmatter(files.text(path))
            return _filled(body.strip(), fields.value, files, path)
        except NotReadable as error:
            whole = os.path.join(root, path)
            code = RunErrorCode.PERMISSION_DENIED if isinstance(error, PathLeavesPackage) else RunErrorCode.PRECONDITION
            raise RunFailed(code, f"{whole}:{error.line}: {error.problem}") from None

    def data(self, path: str, agent: Agent) -> ItemData:
        root, inside = self._placed(path, agent)
        ending = os.path.splitext(inside)[1].lower()
        format = FORMATS.get(ending)
        if format is None:
            raise RunFailed(RunErrorCode.DATA_LOAD_FAILED, f"{path}: data must be one of {', '.join(FORMATS)}")
        try:
            return ItemData(inside, format, parsed(format, self._read(root, inside, RunErrorCode.DATA_LOAD_FAILED)))
        except NotReadable as error:
            raise RunFailed(RunErrorCode.DATA_LOAD_FAILED, f"{path}:{error.line}: {error.problem}") from None

    def _read(self, root: str, path: str, code: str = RunErrorCode.VALIDATION_FAILED) -> str:
        try:
            return PackageFiles(root).text(path)
        except NotReadable as error:
            code = RunErrorCode.PERMISSION_DENIED if isinstance(error, PathLeavesPackage) else code
            raise RunFailed(code, f"{os.path.join(root, path)}:{error.line}: {error.problem}") from None

    def _placed(self, path: str, agent: Agent) -> tuple[str, str]:
        """The folder, package or project, that a path is in, and the path within it."""
        package, project = real_path(agent.package), self._places.root
        given = path.strip()
        whole = os.path.normpath(os.path.join(package, given.replace("\\", "/")))
        if not _ELSEWHERE.match(given) and "\0" not in given:
            roots = [root for root in (package, project) if _below(whole, root)]
            inside = [(root, os.path.relpath(whole, root)) for root in roots[:1]]
            other = os.path.normpath(os.path.join(project, given.replace("\\", "/")))
            if roots[:1] == [package] and not os.path.lexists(whole) and os.path.lexists(other):
                inside = [(project, os.path.relpath(other, project))] if _below(other, project) else inside
            if inside and not self._protection.is_secret(inside[0][1]):
                return inside[0]
        raise RunFailed(
            RunErrorCode.PERMISSION_DENIED, f"{path}: only files of the agent's package and of the project can be read"
        )

    # ── templates and folders

    def rendered(self, text: str, agent: Agent, run: str = "") -> str:
        if "{" not in text:
            return text
        places = {
            "project-root": self._places.root,
            "package-root": agent.package,
            "artifacts-root": os.path.join(self._places.root, ARTIFACTS),
            "state-root": os.path.join(self._places.runs, run) if run else self._places.state,
        }
        package, _ = self._package(agent)
        configured = installed_variables(self._places.root, agent.module)
        return render(text, places, {**configured, **(package.variables if package else {})})

    def make_folder(self, run: str) -> None:
        try:
            private_folder(os.path.join(self._places.runs, run))
        except OSError as error:
            raise RunFailed(
                RunErrorCode.STATE_INIT_FAILED,
                f"{self._places.runs}: the run's folder cannot be created ({error.strerror})",
            ) from None


def _filled(body: str, fields: dict[str, Any], files: PackageFiles, path: str) -> str:
    """A page's text with the values of its own fields; a file that one names beside the page gets its whole path."""
    beside = {
        name: files.shown(found)
        for name, value in fields.items()
        if isinstance(value, str)
        and value.startswith(("./", "../"))
        and files.exists(found := os.path.normpath(os.path.join(os.path.dirname(path), value)))
    }
    folder = os.path.dirname(path)
    above = os.path.dirname(folder) if os.path.basename(folder).startswith("steps") else folder
    return filled(body, own_variables({"installed_path": files.shown(above).rstrip("/"), **fields, **beside}))


def _below(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")
