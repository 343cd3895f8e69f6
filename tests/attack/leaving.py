"""People who leave a project."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.attack.attempt import NotHeldError, NotTriedError, attempt
from tests.attack.names import denied, over_http
from tests.warehouse.hiveserver2 import HiveError
from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from tests.attack.site import Site


@attempt()
def login_of_who_left(site: Site) -> str:
    """A person who is no longer a member: password, and a token of before, at the service and at HiveServer2's ports."""
    me, home = site.cast.outsider, site.cast.home
    token = site.web.token(me, home)
    key = (home.encode(), me.account.encode())
    ((role,),) = site.state.execute("SELECT role FROM project_member WHERE project = %s AND account = %s", key)
    site.state.execute("DELETE FROM project_member WHERE project = %s AND account = %s", key)
    try:
        denied(site.web.login(me.login, token, database=home), 403)
        site.login_refused(me.login, token, home)
        denied(site.web.login(me.login, me.password, database=home), 403)
        over_http(site, me.login, me.password, home)
        return site.login_refused(me.login, me.password, home)
    finally:
        site.state.execute("REPLACE INTO project_member (project, account, role) VALUES (%s, %s, %s)", (*key, role))


@attempt(slow=True)
def session_of_who_left(site: Site) -> str:
    """A session that is open while playbooks/projects.yml takes its person out of the project: it reads no row any more."""
    me, home = site.cast.outsider, site.cast.home
    session = site.opened(me.login, me.password, home)
    try:
        if session.execute("SELECT a FROM attack_rows") != [("own",)]:
            raise NotTriedError("control: the member does not read the own table")
        _run(site, without=me.account)
        try:
            found = session.execute("SELECT a FROM attack_rows")
        except HiveError as error:
            return str(error)
        raise NotHeldError(f"the session still reads {found}")
    finally:
        session.close()
        _run(site)


def _run(site: Site, without: str = "") -> None:
    """Run the playbook, with the projects of the inventory but for one member. Raises NotTriedError."""
    projects: dict[str, Any] = {}
    for one in site.inventory.projects.values():
        members = {name: {"id": member.id, "role": member.role} for name, member in one.members.items()}
        if one.name == site.cast.home:
            members.pop(without, None)
        projects[one.name] = {
            "id": one.id,
            "members": members,
            "members_write": one.members_write,
            "space_quota": str(one.space_quota or ""),
            "name_quota": one.name_quota,
            "readers": list(one.readers),
        }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"projects": projects}, file)
        file.flush()
        extra = ["-e", f"@{file.name}"] if without else []
        argv = [str(Path(sys.executable).parent / "ansible-playbook"), "playbooks/projects.yml"]
        argv += ["-i", str(site.lab.inventory.parent), *extra]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotTriedError(f"playbooks/projects.yml: exit {done.returncode}: {done.stdout[-300:]}")
