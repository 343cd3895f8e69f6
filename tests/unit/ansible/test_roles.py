"""The form of the roles and modules: what docs/development.md asks of each of them."""

from __future__ import annotations

import ast
import functools
import re
import runpy
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
import yaml
from jinja2.ext import do, loopcontrols

from hopshive.services.components import COMPONENTS, HOST_UNITS, Component
from lookup_plugins.hopshive_components import LookupModule
from tools.variables_doc import Loader, load

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
ROLES = {path.name: path for path in sorted((ROOT / "roles").iterdir()) if path.is_dir()}
TASK_FILES = [path for role in ROLES.values() for path in sorted(role.glob("tasks/*.yml"))]
TEMPLATES = sorted([*(ROOT / "templates").glob("*.j2"), *(ROOT / "roles").glob("*/templates/**/*.j2")])
PLAYBOOKS = sorted([*ROOT.glob("site.yml"), *(ROOT / "playbooks").glob("**/*.yml")])
# The order in which tasks/main.yml lists the verbs.
VERBS = ["preflight", "install", "config", "service", "check"]
# Roles that are not a component: their tasks/main.yml has an order of its own.
FREE_ROLES = {"cluster", "jvm_service", "preflight", "artifacts", "common", "controller", "lab"}
# Its arguments would be checked, one after the other, before it can tell all that is wrong.
WITHOUT_CLUSTER = {"cluster", "preflight", "artifacts", "controller", "lab"}
# Variables without a default, since only the user knows them.
NO_DEFAULT = {
    "cluster_metastore_database_password",
    "cluster_cleaner_db_password",
    "cluster_gateway_secret",
    "cluster_login_db_password",
    "login_sealing_key",
    "server2_check_password",
}


@functools.cache
def parsed(path: Path) -> Any:
    """What is in a file. No test may change it."""
    return yaml.load(path.read_text(), Loader)  # noqa: S506 a SafeLoader


def tasks_of(path: Path) -> Iterator[dict[str, Any]]:
    """The tasks of a file (of tasks, handlers or plays), those in blocks and plays too, with the variables of these."""

    def walk(items: list[dict[str, Any]] | None, outer: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for item in items or []:
            given = outer | item.get("vars", {})
            blocks = [item[key] for key in ("block", "rescue", "always") if key in item]
            plays = [item[key] for key in ("pre_tasks", "tasks", "post_tasks", "handlers") if key in item]
            if not (blocks or plays):
                yield {**item, "vars": given}
            for inner in (*blocks, *plays):
                yield from walk(inner, given)

    yield from walk(parsed(path), {})


def options_of(role: Path) -> dict[str, Any]:
    spec = load(role / "meta/argument_specs.yml")
    options: dict[str, Any] = spec["argument_specs"]["main"].get("options") or {}
    return options


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_its_meta_files(role: str) -> None:
    lacking = [name for name in ("meta/main.yml", "meta/argument_specs.yml") if not (ROLES[role] / name).is_file()]
    assert not lacking
    info = load(ROLES[role] / "meta/main.yml")["galaxy_info"]
    assert info["role_name"] == role
    assert info["description"]


@pytest.mark.parametrize("role", sorted(ROLES.keys() - WITHOUT_CLUSTER))
def test_a_role_depends_on_cluster_alone(role: str) -> None:
    dependencies = load(ROLES[role] / "meta/main.yml").get("dependencies") or []
    names = [entry["role"] if isinstance(entry, dict) else entry for entry in dependencies]
    assert names == ["cluster"]


@pytest.mark.parametrize("group", COMPONENTS)
def test_a_component_has_a_role(group: str) -> None:
    assert ("spark" if group == "client" else group) in ROLES


@pytest.mark.parametrize("role", sorted(ROLES.keys() - FREE_ROLES))
def test_tasks_main_lists_the_verbs_in_order_with_their_tags(role: str) -> None:
    imported = []
    for task in tasks_of(ROLES[role] / "tasks/main.yml"):
        verb = Path(task["ansible.builtin.import_tasks"]).stem
        assert {role, verb} <= set(task["tags"]), task["name"]
        imported.append(verb)
    assert imported == [verb for verb in VERBS if verb in imported]
    files = {path.stem for path in (ROLES[role] / "tasks").glob("*.yml")}
    assert set(imported) == files & set(VERBS)


@pytest.mark.parametrize("role", ROLES)
def test_defaults_and_argument_specs_name_the_same_variables(role: str) -> None:
    defaults = set(load(ROLES[role] / "defaults/main.yml"))
    assert set(options_of(ROLES[role])) - NO_DEFAULT == defaults


@pytest.mark.parametrize("role", ROLES)
def test_every_option_has_a_type_and_a_description(role: str) -> None:
    bare = [name for name, option in options_of(ROLES[role]).items() if not {"type", "description"} <= set(option)]
    assert not bare


@pytest.mark.parametrize("role", ROLES)
def test_variables_carry_the_roles_name(role: str) -> None:
    # The variable `projects` is the role's subject.
    public = [
        name for name in load(ROLES[role] / "defaults/main.yml") if name != role and not name.startswith(f"{role}_")
    ]
    private = [name for name in load(ROLES[role] / "vars/main.yml") if not name.startswith(f"__{role}_")]
    assert not public
    assert not private


@pytest.fixture(scope="module")
def used() -> Counter[str]:
    """How often each word stands in what may use a variable."""
    trees = ("roles", "templates", "playbooks", "src", "library", "action_plugins", "lookup_plugins", "filter_plugins")
    words: Counter[str] = Counter()
    for path in (path for tree in trees for path in (ROOT / tree).rglob("*")):
        if path.suffix in {".yml", ".j2", ".py"} and path.name != "argument_specs.yml":
            words.update(re.findall(r"\w+", path.read_text()))
    return words


@pytest.mark.parametrize("role", ROLES)
def test_every_default_is_used(role: str, used: Counter[str]) -> None:
    # Once where it is defined.
    assert not [name for name in load(ROLES[role] / "defaults/main.yml") if used[name] < 2]


@pytest.mark.parametrize("role", ROLES)
def test_every_notified_handler_exists(role: str) -> None:
    # The role jvm_service is rendered by its callers: they have the handler of their own component.
    handlers = set()
    for path in (ROLES[role] / "handlers").glob("*.yml"):
        for handler in tasks_of(path):
            handlers |= {handler["name"], *listed(handler.get("listen"))}
    notified = set()
    for path in (ROLES[role] / "tasks").glob("*.yml"):
        for task in tasks_of(path):
            notified |= {name for name in listed(task.get("notify")) if "{{" not in name}
            variables = task.get("vars", {})
            if (
                str(task.get("ansible.builtin.import_role", {}).get("name")) == "jvm_service"
                and "jvm_service_component" in variables
            ):
                notified.add(f"Restart {variables['jvm_service_component']}")
    component = load(ROLES[role] / "vars/main.yml").get("jvm_service_component")
    if component:
        notified.add(f"Restart {component}")
    assert notified <= handlers


def lasting_of(path: Path) -> set[str]:
    """The names that a file of tasks makes variables of, for those after it too."""
    tasks = list(tasks_of(path))
    return {
        name for task in tasks for name in (*listed(task.get("register")), *task.get("ansible.builtin.set_fact", {}))
    }


def given_in(path: Path) -> set[str]:
    """The names that tasks of a file make variables of, each for itself."""
    names: set[str] = set()
    for task in tasks_of(path):
        names |= {*task["vars"], *map(str, task.get("loop_control", {}).values())}
    return names


@pytest.fixture(scope="module")
def everywhere() -> set[str]:
    """The private variables of the roles, and what their tasks leave."""
    of_roles = {name for role in ROLES.values() for name in load(role / "vars/main.yml")}
    return of_roles.union(*(lasting_of(path) for path in TASK_FILES))


def importers_of(wanted: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The files with a task that takes in a role's file of tasks, and that task."""
    role = wanted.parents[1]
    for path in [*TASK_FILES, *PLAYBOOKS]:
        for task in tasks_of(path):
            for kind in ("import", "include"):
                of_role = task.get(f"ansible.builtin.{kind}_role", {})
                files = listed(task.get(f"ansible.builtin.{kind}_tasks")) if path.parent == wanted.parent else []
                if wanted.name in files or (
                    of_role.get("name") == role.name and of_role.get("tasks_from") == wanted.stem
                ):
                    yield path, task


@pytest.mark.parametrize("path", TASK_FILES, ids=relative)
def test_who_takes_in_a_file_of_tasks_gives_it_its_variables(path: Path, everywhere: set[str]) -> None:
    """A playbook that is seldom run would fail half-way for want of one."""

    def wants(of: Path) -> set[str]:
        return set(re.findall(r"\b__[a-z]\w+\b", of.read_text())) - everywhere - given_in(of)

    missing = {
        f"{relative(importer)}: {name}"
        for importer, task in importers_of(path)
        for name in wants(path) - set(task["vars"]) - wants(importer)
    }
    assert not missing


def listed(value: Any) -> list[str]:
    """A value that may be one or a list of them, as a list."""
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def entry_points() -> dict[tuple[str, str], set[str]]:
    """The role and the file of tasks that another role or a playbook takes in, with the variables that it gives to them."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in [*TASK_FILES, *PLAYBOOKS]:
        for task in tasks_of(path):
            of_role = task.get("ansible.builtin.import_role", task.get("ansible.builtin.include_role", {}))
            if "tasks_from" not in of_role:
                continue
            # A component that is named on the command line may be any that has such a file.
            of_any = "{{" in of_role["name"]
            for role in sorted(COMPONENTS.keys() & ROLES.keys()) if of_any else [of_role["name"]]:
                if not of_any or (ROLES[role] / f"tasks/{of_role['tasks_from']}.yml").is_file():
                    given = {name for name in task["vars"] if name.startswith(f"{role}_")}
                    found.setdefault((role, of_role["tasks_from"]), set()).update(given)
    return found


ENTRY_POINTS = entry_points()


@pytest.mark.parametrize(("role", "entry"), ENTRY_POINTS, ids=".".join)
def test_an_entry_point_has_an_argument_spec(role: str, entry: str) -> None:
    specs = load(ROLES[role] / "meta/argument_specs.yml")["argument_specs"]
    assert entry in specs, f"the role {role} has no argument spec of its entry point {entry}"
    options = specs[entry].get("options") or {}
    assert specs[entry]["short_description"]
    assert not [name for name, option in options.items() if not {"type", "description"} <= set(option)]
    unknown = ENTRY_POINTS[role, entry] - set(options)
    assert not unknown, f"the argument spec of {role}, entry point {entry}, lacks what its callers give: {unknown}"


@pytest.mark.parametrize("role", ROLES)
def test_each_argument_spec_belongs_to_an_entry_point(role: str) -> None:
    specs = set(load(ROLES[role] / "meta/argument_specs.yml")["argument_specs"])
    assert specs == {"main"} | {entry for of, entry in ENTRY_POINTS if of == role}


@pytest.mark.parametrize("template", TEMPLATES, ids=relative)
def test_a_template_parses(template: Path) -> None:
    environment = jinja2.Environment(extensions=[do, loopcontrols], autoescape=False)  # noqa: S701 only parsed
    environment.parse(template.read_text())


@pytest.mark.parametrize("path", [*TASK_FILES, *PLAYBOOKS], ids=relative)
def test_no_task_ignores_errors(path: Path) -> None:
    assert not [task.get("name") for task in tasks_of(path) if task.get("ignore_errors")]


@pytest.mark.parametrize("path", [*TASK_FILES, *PLAYBOOKS], ids=relative)
def test_a_task_that_continues_without_a_host_does_not_end_the_run(path: Path) -> None:
    """Where the play, the task or run_once makes errors fatal, Ansible ends the run at an unreachable host, ignored or not.

    A container that is down does not show it: the connection through Docker fails, and only ssh says unreachable.
    """
    for task in tasks_of(path):
        if task.get("ignore_unreachable"):
            assert task.get("any_errors_fatal") is False, task["name"]
            assert not task.get("run_once"), task["name"]


@pytest.mark.parametrize("path", [*TASK_FILES, *PLAYBOOKS], ids=relative)
def test_no_task_waits_for_the_clock(path: Path) -> None:
    sleeps = [task.get("name") for task in tasks_of(path) if "ansible.builtin.pause" in task]
    timers = [
        task.get("name") for task in tasks_of(path) if set(task.get("ansible.builtin.wait_for") or {}) == {"timeout"}
    ]
    assert not sleeps
    assert not timers


@pytest.mark.parametrize("path", [*TASK_FILES, *PLAYBOOKS], ids=relative)
def test_a_shell_has_its_reason_in_a_comment(path: Path) -> None:
    """A comment stands in the task itself or right above it."""
    shells = {task["name"] for task in tasks_of(path) if {"ansible.builtin.shell", "ansible.builtin.raw"} & set(task)}
    texts = re.split(r"(?m)^(?=(?:[ ]*#.*\n)*[ ]*- name:)", path.read_text())
    bare = [
        name for name in shells for text in texts if f"- name: {name}\n" in text and not re.search(r"(?m)^ *#", text)
    ]
    assert not bare


@pytest.mark.parametrize("path", [*TASK_FILES, *PLAYBOOKS], ids=relative)
def test_facts_are_read_through_ansible_facts(path: Path) -> None:
    injected = re.findall(
        r"\bansible_(?:hostname|fqdn|memtotal_mb|processor_\w+|distribution\w*|os_family|default_ipv4|mounts|architecture)\b",
        path.read_text(),
    )
    assert not injected


# --- modules ------------------------------------------------------------------------------------------------------

MODULES = sorted((ROOT / "library").glob("*.py"))
# What modules share.
SHARED = runpy.run_path(str(ROOT / "module_utils/hopshive_module.py"))
# Where the arguments of a module are declared that is an action on the controller.
ACTIONS = {path.stem: path for path in (ROOT / "action_plugins").glob("*.py") if "argument_spec" in path.read_text()}


def documents(path: Path) -> dict[str, Any]:
    """The module's three documents by their name, read from its source."""
    found = re.findall(r'(?ms)^(DOCUMENTATION|EXAMPLES|RETURN) = r?"""(.*?)"""', path.read_text())
    return {name: yaml.safe_load(text) for name, text in found}


def argument_names(path: Path) -> set[str]:
    """The names in a module's argument_spec, written at its call or under a name of its own."""
    tree = ast.parse(ACTIONS.get(path.stem, path).read_text())
    specs = [
        keyword.value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "argument_spec"
    ]
    assert len(specs) == 1, f"{path.name} has {len(specs)} argument_specs"
    spec: ast.expr | None = specs[0]
    if isinstance(spec, ast.Name):
        named = spec.id
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [named]:
                spec = node.value
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == named:
                spec = node.value
    if isinstance(spec, ast.Call):
        return {str(keyword.arg) for keyword in spec.keywords}
    assert isinstance(spec, ast.Dict), f"{path.name} computes its argument_spec"
    # What others have too is written as **NAME.
    shared = [
        value.id
        for key, value in zip(spec.keys, spec.values, strict=True)
        if key is None and isinstance(value, ast.Name)
    ]
    return {str(ast.literal_eval(key)) for key in spec.keys if key is not None}.union(
        *(SHARED[name] for name in shared)
    )


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_module_is_documented(path: Path) -> None:
    found = documents(path)
    assert set(found) == {"DOCUMENTATION", "EXAMPLES", "RETURN"}
    documentation = found["DOCUMENTATION"]
    assert documentation["module"] == path.stem
    assert {"short_description", "description", "options", "attributes", "author"} <= set(documentation)
    assert "check_mode" in documentation["attributes"]
    assert all(path.stem in str(example) for example in found["EXAMPLES"])
    assert all({"description", "returned", "type"} <= set(value) for value in (found["RETURN"] or {}).values())


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_modules_documented_options_are_its_arguments(path: Path) -> None:
    documentation = documents(path)["DOCUMENTATION"]
    documented = set(documentation["options"] or {})
    for name in documentation.get("extends_documentation_fragment", []):
        fragment = runpy.run_path(str(ROOT / f"doc_fragments/{name}.py"))["ModuleDocFragment"].DOCUMENTATION
        documented |= set(yaml.safe_load(fragment)["options"])
    assert documented == argument_names(path)


def test_purge_takes_every_unit_that_a_component_has() -> None:
    *_, play = yaml.safe_load((ROOT / "playbooks/purge.yml").read_text())
    assert play["vars"]["__purge_units"] == "{{ query('hopshive_components', 'unit_files') }}"
    # MariaDB's unit is its package's.
    units = {unit for name, component in COMPONENTS.items() if name != "mariadb" for unit in component.units}
    assert set(LookupModule().run(["unit_files"])) == units | {*HOST_UNITS}


def test_what_purge_removes_is_what_roles_write() -> None:
    texts = "".join(path.read_text() for path in (ROOT / "roles").rglob("*.yml"))
    for name in LookupModule().run(["launchers", "paths"]):
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", texts), name


@pytest.mark.parametrize("component", COMPONENTS.values(), ids=COMPONENTS)
def test_a_component_knows_its_watchdog(component: Component) -> None:
    service = ROLES.get(component.group, Path()) / "tasks/service.yml"
    watched = service.is_file() and "jvm_service_watchdog:" in service.read_text()
    assert (f"{component.unit}-watchdog" in component.units) is watched


@pytest.mark.parametrize(
    ("had", "database", "allowed"),
    [
        ("", "mariadb", True),
        ("", "ndb", True),
        # As older releases wrote it.
        ("jdbc:mysql:", "mariadb", True),
        ("jdbc:mysql:", "ndb", False),
        ("jdbc:mysql+strict:", "mariadb", True),
        ("jdbc:mysql+strict:", "ndb", False),
        ("jdbc:mysql+ndb:", "ndb", True),
        ("jdbc:mysql+ndb:", "mariadb", False),
    ],
)
def test_a_metastore_keeps_its_kind_of_database(had: str, database: str, *, allowed: bool) -> None:
    (task,) = [
        task
        for task in tasks_of(ROLES["metastore"] / "tasks/database.yml")
        if task["name"] == "Refuse to begin an empty warehouse in the other kind"
    ]
    condition = jinja2.Environment(autoescape=True).compile_expression(task["ansible.builtin.assert"]["that"])
    assert condition(__metastore_had={"stdout": had}, cluster_database=database) is allowed


def test_what_is_told_to_be_set_on_the_command_line_is_read_as_text() -> None:
    # Of -e name=true the value is the text "true", which as a condition is an error, and of which `not` makes false.
    told = re.compile(r"-e (\w+)=true")
    files = [
        path
        for place in ("roles", "playbooks", "docs")
        for path in (ROOT / place).rglob("*")
        if path.suffix in (".yml", ".md")
    ]
    names = {name for path in files for name in told.findall(path.read_text())}
    assert "cluster_roll_degraded" in names
    # As a variable in an expression, but not as a value that a module reads, or the key of one.
    raw = re.compile(rf"(?:if|not|or|and|that:|when:|-) ({'|'.join(names)})(?! ?(?:\w|[=:|]|default\())")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in [*TASK_FILES, *PLAYBOOKS, *ROOT.glob("roles/*/vars/*.yml"), *ROOT.glob("roles/*/handlers/*.yml")]
        for line in path.read_text().splitlines()
        if not line.lstrip().startswith("#") and raw.search(line)
    ]
    assert found == []


def test_a_service_without_its_watchdog_can_be_stopped() -> None:
    """As a run has left it that was broken off before the watchdog was written."""
    look, stop, _ = tasks_of(ROOT / "roles/jvm_service/tasks/stop.yml")
    assert look["ansible.builtin.stat"]["path"] == "/etc/systemd/system/{{ jvm_service_unit }}-watchdog.service"
    assert f"{look['register']}.stat.exists" in stop["when"]


def test_both_roots_of_the_warehouse_bring_old_directories_to_their_acl() -> None:
    directories = yaml.safe_load((ROLES["namenode"] / "vars/main.yml").read_text())["__namenode_hdfs_paths"]
    roots = [one for one in directories if "cluster_warehouse_" in one["path"]]
    assert [one["path"] for one in roots] == ["{{ cluster_warehouse_managed }}", "{{ cluster_warehouse_external }}"]
    assert all(one["acl"] == "{{ __namenode_warehouse_acl }}" and one["tree"] for one in roots)


def test_trash_and_journal_keep_what_went_for_the_same_time() -> None:
    journal = yaml.safe_load((ROLES["cleaner"] / "defaults/main.yml").read_text())["cleaner_journal_expiry"]
    trash = yaml.safe_load((ROLES["cluster"] / "vars/main.yml").read_text())["__cluster_core_common"][
        "fs.trash.interval"
    ]
    assert journal == "{{ cluster_undo_seconds }}"
    assert trash.startswith("{{ (cluster_undo_seconds | float / 60)")
