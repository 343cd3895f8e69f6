"""The choice of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.attack.attempt import NotHeldError, NotTriedError, attempt
from tests.attack.names import denied

if TYPE_CHECKING:
    from tests.attack.site import Site


@attempt()
def database_of_another_project(site: Site) -> str:
    """A session whose database is the victim's."""
    me = site.cast.outsider
    denied(site.web.login(me.login, me.password, database=site.cast.victim), 403)
    return site.login_refused(me.login, me.password, site.cast.victim)


@attempt()
def project_behind_the_name(site: Site) -> str:
    """The victim's project as `name#project`, alone, with the own database, and twice."""
    me, victim, home = site.cast.outsider, site.cast.victim, site.cast.home
    for name in (f"{me.login}#{victim}", f"{me.login}#{home}#{victim}", f"{me.login}#{victim}#"):
        said = site.login_refused(name, me.password)
    # With the own database beside it, the login is refused too, or the session is at home.
    with site.session(name=f"{me.login}#{victim}", password=me.password) as session:
        answer = session.tried("SELECT current_user()")
        if "OK" in answer and site.cast.outsider_user not in answer:
            raise NotHeldError(f"the session is {answer}")
    return said


@attempt()
def project_spelt_otherwise(site: Site) -> str:
    """The victim's project in capitals, with spaces, dots, quotes, NUL, and letters that look the same."""
    me, victim = site.cast.outsider, site.cast.victim
    others = (
        victim.upper(),
        f" {victim}",
        f"{victim}.",
        f"`{victim}`",
        f"../{victim}",
        f"{victim}\0",
        "\u0455" + victim[1:],
    )
    for name in (*others, victim.replace("s", "\u017f")):
        site.login_refused(me.login, me.password, name)
        said = denied(site.web.login(me.login, me.password, database=name))
    return said


@attempt()
def names_that_collide(site: Site) -> str:
    """Projects and accounts with two underscores, of which `a__b` and `b__c` would make one user."""
    me, owner, victim = site.cast.outsider, site.cast.owner, site.cast.victim
    for project in (f"{victim}__{owner.account}", f"{victim}_", f"{victim}__", "__", f"{victim}__x"):
        denied(site.web.login(me.login, me.password, database=project))
        said = site.login_refused(me.login, me.password, project)
    return said


@attempt()
def no_project(site: Site) -> str:
    """A session without a project reads the victim's tables, and makes tables in `default`."""
    with site.session(database="") as session:
        if session.user != site.cast.outsider.account:
            raise NotHeldError(f"the session is {session.user}")
        session.refused(f"SELECT * FROM {site.cast.victim}.attack_rows")
        session.refused(f"SELECT * FROM {site.cast.home}.attack_rows")
        return session.refused("CREATE EXTERNAL TABLE default.attack_rows (a STRING)")


@attempt()
def database_default(site: Site) -> str:
    """The database `default` as a project."""
    with site.session(database="default") as session:
        if session.user != site.cast.outsider.account:
            raise NotHeldError(f"the session is {session.user}")
        return session.refused(f"SELECT * FROM {site.cast.victim}.attack_rows")


@attempt()
def another_database_later(site: Site) -> str:
    """USE of the victim's database in a session at home: the user stays, and reads nothing."""
    with site.session() as session:
        said = session.tried(f"USE {site.cast.victim}")
        if session.user != site.cast.outsider_user:
            raise NotHeldError(f"the session is {session.user}")
        session.refused(f"SELECT * FROM {site.cast.victim}.attack_rows")
    return said


@attempt()
def two_databases(site: Site) -> str:
    """The victim's database in other settings of the session than the one that is looked at."""
    me, victim = site.cast.outsider, site.cast.victim
    for name in (
        "use:Database",
        "USE:database",
        "use:database ",
        "set:use:database",
        "set:hivevar:database",
        "database",
    ):
        with site.session(settings={name: victim}) as session:
            try:
                user = session.user
            except NotTriedError:
                continue
            if user != site.cast.outsider_user:
                raise NotHeldError(f"with {name} the session of {me.login} is {user}")
            session.refused(f"SELECT * FROM {victim}.attack_rows")
    return "the session stays at home"


@attempt()
def names_of_tables(site: Site) -> str:
    """Names of the victim's tables, by all statements that list some."""
    victim = site.cast.victim
    session = site.standing()
    said = ""
    lists = (
        "TABLES IN {}",
        "VIEWS IN {}",
        "MATERIALIZED VIEWS IN {}",
        "TABLE EXTENDED IN {} LIKE '%'",
        "TABLES IN {} LIKE 'a%'",
    )
    for statement in lists:
        answer = session.tried(f"SHOW {statement.format(victim)}")
        if "attack_" in answer:
            raise NotHeldError(f"SHOW {statement}: {answer}")
        said = answer if "rows" not in answer else said
    if not session.allowed(f"SHOW TABLES IN {site.cast.home} LIKE 'attack%'"):
        raise NotTriedError("control: the own tables are not listed")
    return said
