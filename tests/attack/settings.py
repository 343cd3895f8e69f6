"""Settings: in the URL, by SET, and beside a statement."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hopshive.metastore.thrift import TType
from tests.attack.attempt import NotHeldError, NotTriedError, attempt, register
from tests.attack.site import HOST_TRACE, sentence
from tests.warehouse.hiveserver2 import HiveError

if TYPE_CHECKING:
    from tests.attack.site import Site, Watched

RUN = f"; touch {HOST_TRACE} ;"
# By the name: the value, and what it would do.
SETTINGS = {
    "hive.server2.proxy.user": ("{owner_user}", "Act as the victim's owner."),
    "hive.server2.enable.doAs": ("false", "Act as HiveServer2's own user on HDFS."),
    "hive.metastore.execute.setugi": ("false", "Be the metastore's own user there."),
    "hive.metastore.uris": ("thrift://192.0.2.1:9083", "Ask another metastore."),
    "metastore.thrift.uris": ("thrift://192.0.2.1:9083", "Ask another metastore, by the other name of the setting."),
    "hive.security.authorization.enabled": ("false", "Switch the authorizer off."),
    "hive.security.authorization.manager": ("x.Y", "Another authorizer."),
    "hive.security.authenticator.manager": ("x.Y", "Another class that says who one is."),
    "hive.security.authorization.sqlstd.confwhitelist.append": (".*", "All settings may be set from then on."),
    "hive.conf.restricted.list": ("x", "No setting is restricted from then on."),
    "hive.security.command.whitelist": ("set,reset,dfs,add,compile", "All commands are allowed from then on."),
    "hive.server2.builtin.udf.blacklist": ("x", "All functions are allowed from then on."),
    "hive.users.in.admin.role": ("{outsider_user}", "Be an administrator."),
    "hive.exec.pre.hooks": ("", "Take the hooks away that refuse scripts."),
    "hive.exec.post.hooks": ("x.Y", "Run a class after each statement."),
    "hive.exec.failure.hooks": ("x.Y", "Run a class after a failure."),
    "hive.semantic.analyzer.hook": ("", "Take the hooks away that refuse places of hosts."),
    "hive.exec.query.redactor.hooks": ("x.Y", "Run a class on each statement."),
    "hive.server2.session.hook": ("x.Y", "Run a class in each session."),
    "hive.session.impl.withugi.classname": ("x.Y", "Another class of sessions."),
    "hive.aux.jars.path": ("hdfs:///tmp/x.jar", "Load classes of one's own."),
    "hive.reloadable.aux.jars.path": ("/etc", "Load classes of one's own at RELOAD."),
    "hive.exec.scratchdir": ("/user/{owner_user}", "Read results of the owner in the owner's directory."),
    "hive.exec.local.scratchdir": ("/etc", "Write on the host."),
    "hive.querylog.location": ("/etc", "Write logs on the host."),
    "hive.metastore.warehouse.dir": ("file:///", "Make tables on the host."),
    "fs.defaultFS": ("file:///", "Take the host's files for those of HDFS."),
    "fs.hdfs.impl": ("org.apache.hadoop.fs.LocalFileSystem", "Take the host's files for those of HDFS, by a class."),
    "hadoop.security.credential.provider.path": ("localjceks://file/tmp/x", "Read secrets elsewhere."),
    "hive.execution.engine": ("mr", "Run tasks in a process of HiveServer2's host."),
    "mapreduce.framework.name": ("local", "Run tasks in HiveServer2."),
    "hive.tez.java.opts": ("-Xmx200m" + RUN, "Run a command on a worker, in the options of tasks."),
    "hive.tez.log.level": ("INFO" + RUN, "Run a command on a worker, in the level of logs."),
    "tez.am.launch.cmd-opts": (
        "-Xmx200m" + RUN,
        "Run a command on a worker, in the options of the application master.",
    ),
    "tez.am.launch.env": ("A=$(touch " + HOST_TRACE + ")", "Run a command on a worker, in the master's environment."),
    "tez.am.log.level": ("INFO" + RUN, "Run a command on a worker, in the level of the master's logs."),
    "tez.am.view-acls": ("*", "Show the own queries to all: a first step to those of others."),
    "tez.task.launch.cmd-opts": ("-Xmx200m" + RUN, "Run a command on a worker, in the options of tasks of Tez."),
    "tez.task.launch.env": ("HADOOP_USER_NAME=hdfs", "Be the superuser of HDFS in tasks."),
    "tez.task.specific.launch.cmd-opts": ("x" + RUN, "Run a command on a worker, in options of single tasks."),
    "tez.lib.uris": ("hdfs:///tmp/x.jar", "Run Tez of one's own."),
    "tez.aux.uris": ("hdfs:///tmp/x.jar", "Load classes of one's own into tasks."),
    "mapreduce.map.env": ("HADOOP_USER_NAME=hdfs", "Be the superuser of HDFS in tasks, by MapReduce's setting."),
    "mapreduce.map.java.opts": ("-Xmx200m" + RUN, "Run a command on a worker, by MapReduce's setting."),
    "mapreduce.reduce.env": ("LD_PRELOAD=/tmp/x.so", "Load a library into tasks."),
    "mapred.map.child.java.opts": ("x" + RUN, "Run a command on a worker, by MapReduce's old setting."),
    "hive.exim.uri.scheme.whitelist": ("file", "EXPORT to the host."),
    "hive.query.results.cache.directory": ("/etc", "Results of others in a cache."),
    "hive.query.results.cache.enabled": ("true", "Results of others from a cache."),
    "reexec.overlay.fs.defaultFS": ("file:///", "Change a setting at the second run of a query."),
    "distcp.filters.class": ("x.Y", "Run a class while files are copied."),
    "hive.llap.daemon.service.hosts": ("@x", "Send queries to servers of one's own."),
    "hive.druid.metadata.uri": ("jdbc:x", "Connect to a database of one's own."),
    "javax.jdo.option.ConnectionURL": ("jdbc:derby:/tmp/x;create=true", "Another database of the metastore."),
    "hive.hdfs.session.path": ("/etc", "Another directory of the session."),
    "_hive.hdfs.session.path": ("/etc", "Another directory of the session, by its inner name."),
    "hive.query.id": ("../../x", "A query's name that is a path."),
    "hopshive.login.urls": ("https://192.0.2.1", "Ask another login service."),
    "hopshive.confinement.schemes": ("file", "Name places of the host."),
}


def _values(site: Site) -> dict[str, str]:
    return {"owner_user": site.cast.owner_user, "outsider_user": site.cast.outsider_user}


# Of these the quick form tries the URL too: each takes two sessions.
FIRST = (
    "fs.defaultFS",
    "hive.exec.pre.hooks",
    "hive.metastore.execute.setugi",
    "hive.metastore.uris",
    "hive.security.authorization.enabled",
    "hive.server2.enable.doAs",
    "hive.server2.proxy.user",
    "hive.tez.java.opts",
)


def _in_url(site: Site, name: str, template: str) -> str:
    """In the URL as a setting (set:hiveconf:) and as it stands: the session is refused, or the setting does not count."""
    value = template.format(**_values(site))
    before, said = shown(site.standing(), name), ""
    for key in (f"set:hiveconf:{name}", name):
        with site.session(settings={key: value}) as session:
            try:
                user = session.user
            except NotTriedError as error:
                said = str(error).partition(": ")[2]
                continue
            if user != site.cast.outsider_user:
                raise NotHeldError(f"{key} in the URL: the session is {user}")
            if _counts(now := shown(session, name), value, before):
                raise NotHeldError(f"{key} in the URL counts: {now}")
            said = said or f"{now}, as before"
    return said


def _by_set(site: Site, name: str, template: str) -> str:
    """By SET, which is refused or does not count."""
    value = template.format(**_values(site))
    session = site.standing()
    before = shown(session, name)
    said = session.tried(f"SET {name}={value}")
    if _counts(now := shown(session, name), value, before):
        session.tried(f"RESET {name}")
        raise NotHeldError(f"SET counts: {now}")
    return said


def _counts(now: str, value: str, before: str) -> bool:
    return now != before and now.endswith(f"={value}")


def shown(session: Watched, name: str) -> str:
    """What SET says of a setting."""
    return session.tried(f"SET {name}").partition(": ")[2].strip("(),'\"")


def _control(site: Site) -> None:
    """A setting that is everybody's own counts in all of these ways. Raises NotTriedError."""
    name, value = "hive.merge.size.per.task", "12345"
    with site.session(settings={f"set:hiveconf:{name}": value}) as session:
        if value not in shown(session, name):
            raise NotTriedError(f"control: {name} in the URL does not count")
        session.allowed(f"SET {name}=54321")
        if "54321" not in shown(session, name):
            raise NotTriedError(f"control: SET {name} does not count")


@attempt()
def settings_by_the_hundred(site: Site) -> str:
    """A setting that nobody knows."""
    _control(site)
    return site.standing().refused("SET hive.no.such.setting=1")


for _name, (_value, _sentence) in SETTINGS.items():
    register(f"set {_name}", "settings", _sentence, partial(_by_set, name=_name, template=_value))
    register(
        f"{_name} in the URL",
        "settings",
        _sentence,
        partial(_in_url, name=_name, template=_value),
        slow=_name not in FIRST,
    )


@attempt()
def properties_of_the_jvm(site: Site) -> str:
    """Properties of HiveServer2's JVM, which all sessions share: by SET, with comments, by a variable, in the URL."""
    name = f"hopshive.{site.marker[-8:]}"
    session = site.standing()
    said = ""
    session.tried("SET hivevar:kind=system")
    for statement in (
        f"SET system:{name}=1",
        f"set\n\tsystem:{name}=1",
        f"-- a\nSET system:{name}=1",
        f"/* a */ SET system:{name}=1",
        f"SET ${{hivevar:kind}}:{name}=1",
        f" ; SET system:{name}=1",
    ):
        said = session.tried(statement)
        if "=1" in session.tried(f"SET system:{name}"):
            raise NotHeldError(f"{statement!r} counts in all sessions")
    for key in (f"set:system:{name}", f"system:{name}", f"set:hivevar:x;set:system:{name}"):
        with site.session(settings={key: "1"}) as other:
            other.tried("SELECT 1")
        if "=1" in session.tried(f"SET system:{name}"):
            raise NotHeldError(f"{key} in the URL counts in all sessions")
    return session.tried(f"SET system:{name}=1") or said


@attempt()
def settings_beside_a_statement(site: Site) -> str:
    """Settings that a call of Thrift has beside the statement (confOverlay)."""
    said = ""
    with site.session() as session:
        for name in (
            "hive.security.authorization.enabled",
            "hive.exec.pre.hooks",
            "hive.tez.java.opts",
            "fs.defaultFS",
        ):
            request = {
                1: session.session.handle,
                2: (TType.STRING, "SELECT 1"),
                3: (TType.MAP, {name: "false"}),
                4: (TType.BOOL, False),
            }
            try:
                session.session.call("ExecuteStatement", request)
            except HiveError as error:
                said = sentence(error)
                continue
            raise NotHeldError(f"{name} was taken beside a statement")
        session.allowed("SELECT 1")
    return said


@attempt()
def settings_taken_back(site: Site) -> str:
    """RESET of what the authorizer has set for the session, then a script."""
    with site.session() as session:
        names = ("hive.exec.pre.hooks", "hive.security.command.whitelist", "hive.server2.builtin.udf.blacklist")
        for name in names:
            session.tried(f"RESET {name}")
            session.tried(f"RESET -d {name}")
        session.tried("RESET")
        session.refused("dfs -ls /")
        session.refused("SELECT reflect('java.lang.System', 'getProperty', 'user.name')")
        return session.refused("SELECT TRANSFORM(a) USING 'cat' AS (b) FROM attack_rows")


@attempt()
def secrets_among_settings(site: Site) -> str:
    """Secrets of the warehouse in what SET -v, SHOW CONF and variables show: settings, environment, properties of the JVM."""
    session = site.standing()
    secrets = site.secrets()
    found = repr(session.allowed("SET -v"))
    for name in (
        "javax.jdo.option.ConnectionPassword",
        "hopshive.login.service.password",
        "hive.server2.keystore.password",
    ):
        found += repr(session.tried(f"SET {name}"))
        found += repr(session.tried(f"SELECT '${{hiveconf:{name}}}'"))
        found += repr(session.tried(f"SHOW CONF '{name}'"))
    if shown_ones := [name for name, value in secrets.items() if value in found]:
        raise NotHeldError(f"SET shows {', '.join(shown_ones)}")
    return f"{len(found)} characters without one of {len(secrets)} secrets"


@attempt()
def settings_of_the_metastore(site: Site) -> str:
    """Settings of the metastore, which other sessions share with this one (metaconf)."""
    session = site.standing()
    name = "hive.metastore.disallow.incompatible.col.type.changes"
    before = session.tried(f"SET metaconf:{name}")
    session.tried(f"SET metaconf:{name}={'false' if 'true' in before else 'true'}")
    owner = site.as_owner(f"SET metaconf:{name}")
    session.tried(f"SET metaconf:{name}={'true' if 'true' in before else 'false'}")
    if str(owner[0][0]) not in before:
        raise NotHeldError(f"the owner's session has {owner[0][0]}")
    return f"the owner's session has {owner[0][0]} as before"
