"""HTTP of HiveServer2 and of the login service, and pages that ask for no login."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

from tests.attack.attempt import NotHeldError, NotTriedError, attempt
from tests.attack.names import denied
from tests.attack.site import sentence
from tests.attack.web import LOGIN, SERVER2_HTTP, SERVER2_PAGE, basic
from tests.warehouse.hiveserver2 import HiveError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.attack.site import Site

PATHS = ("/cliservice", "/cliservice/", "//cliservice", "/", "/cliservice/../x", "/jmx", "/conf", "/logs", "/stacks")


def _refused(site: Site, headers: Mapping[str, str], path: str = "/cliservice") -> str:
    try:
        user = site.http(headers, path=path).whose()
    except (HiveError, OSError) as error:
        return sentence(error)
    raise NotHeldError(f"with {sorted(headers)} at {path} the session is {user}")


@attempt()
def http_without_a_login(site: Site) -> str:
    """HiveServer2 over HTTP without a login, at all paths."""
    for path in PATHS:
        said = _refused(site, {}, path)
        answer = site.web.ask(site.server2, SERVER2_HTTP, path=path)
        if answer.status == 200:
            raise NotHeldError(f"GET {path} is answered {answer}")
    return said


@attempt()
def http_with_another_kind_of_login(site: Site) -> str:
    """HTTP with Negotiate, Bearer, Digest, and a Basic that is none."""
    token = site.web.token(site.cast.owner)
    for header in (
        "Negotiate YII",
        "Bearer x",
        f"Bearer {token}",
        "Digest username=hive",
        "Basic",
        "Basic Og==",
        "Basic aGl2ZQ==",
        "basic %%%",
    ):
        said = _refused(site, {"Authorization": header})
    return said


@attempt()
def http_as_a_service(site: Site) -> str:
    """HTTP as hive, hdfs and the account of the health checks, with their names as passwords."""
    for name in ("hive", "hdfs", "anonymous", "hopshive-check", "root"):
        said = _refused(site, basic(name, name))
        _refused(site, basic(name, ""))
    return said


@attempt()
def http_with_doas(site: Site) -> str:
    """The user to act as in the URL (doAs), in all spellings, with the own login."""
    me = site.cast.outsider
    said = ""
    for query in (
        "doAs=hive",
        f"doAs={site.cast.owner_user}",
        "DOAS=hive",
        "a=b&doAs=hive",
        "doAs=hive&doAs=hdfs",
        "user.name=hive",
        "proxyUser=hive",
    ):
        try:
            user = site.http(basic(me.login, me.password), site.cast.home, f"/cliservice?{query}").whose()
        except HiveError as error:
            said = sentence(error)
            continue
        if user != site.cast.outsider_user:
            raise NotHeldError(f"with ?{query} the session is {user}")
    return said or f"the session is {site.cast.outsider_user}"


@attempt()
def http_with_headers_of_a_proxy(site: Site) -> str:
    """Headers by which proxies name a user, with the own login and without one."""
    me, owner = site.cast.outsider, site.cast.owner
    headers = {
        "X-Hopshive-User": site.cast.owner_user,
        "X-Hopshive-Subject": f"CN={owner.account}",
        "X-Forwarded-User": "hive",
        "X-Remote-User": "hive",
        "Remote-User": "hive",
        "X-Forwarded-For": "127.0.0.1",
        "X-CSRF-TOKEN": "x",
    }
    _refused(site, headers)
    user = site.http({**basic(me.login, me.password), **headers}, site.cast.home).whose()
    if user != site.cast.outsider_user:
        raise NotHeldError(f"the session is {user}")
    return f"the session is {user}"


@attempt()
def http_with_a_made_up_cookie(site: Site) -> str:
    """A cookie as HiveServer2 makes them for a login, unsigned, and signed with nothing."""
    for cookie in ("cu=hive&rn=1", "cu=hive&rn=1&s=", f"cu={site.cast.owner.login}&rn=1&s=aGl2ZQ=="):
        said = _refused(site, {"Cookie": f"hive.server2.auth={cookie}"})
    return said


@attempt()
def http_with_the_cookie_of_another(site: Site) -> str:
    """Cookies that the owner's login was given, without a login, and with the own one."""
    owner, me = site.cast.owner, site.cast.outsider
    theirs = site.http(basic(owner.login, owner.password), site.cast.victim)
    try:
        theirs.execute("SELECT 1")
        cookies = theirs.cookie
    finally:
        theirs.close()
    cookies = cookies or "hive.server2.auth=none"
    said = _refused(site, {"Cookie": cookies})
    user = site.http({**basic(me.login, me.password), "Cookie": cookies}, site.cast.home).whose()
    if user != site.cast.outsider_user:
        raise NotHeldError(f"the session is {user}")
    return f"{said}; with the own login the session is {user}"


@attempt()
def two_logins_in_a_request(site: Site) -> str:
    """Two headers of a login in one request: the first could be checked, and the second be taken."""
    me = site.cast.outsider
    one, other = basic(me.login, me.password)["Authorization"], basic("hive", "hive")["Authorization"]
    answers = []
    for first, second in ((one, other), (other, one)):
        # Names of headers that differ in case alone are sent as two.
        try:
            user = site.http({"Authorization": first, "authorization": second}, site.cast.home).whose()
        except (HiveError, OSError) as error:
            answers.append(sentence(error))
            continue
        if user != site.cast.outsider_user:
            raise NotHeldError(f"the session is {user}")
        answers.append(f"the session is {user}")
    return "; ".join(answers)


@attempt()
def http_in_the_clear(site: Site) -> str:
    """HiveServer2's two ports without TLS."""
    try:
        answer = site.web.ask_plain(site.server2, SERVER2_HTTP, "/cliservice")
    except (OSError, NotTriedError) as error:
        return f"{type(error).__name__}: {error}"
    raise NotHeldError(f"answered {answer}")


@attempt()
def page_from_outside(site: Site) -> str:
    """HiveServer2's page, which shows statements of all and asks for no login, from another host."""
    said = ""
    for host in site.lab.group("server2"):
        for port in (SERVER2_PAGE,):
            try:
                answer = site.web.ask_plain(host, port, "/")
            except (OSError, NotTriedError) as error:
                said = f"{type(error).__name__}: {error}"
                continue
            raise NotHeldError(f"{host.name}:{port} answers {answer}")
    return said


@attempt()
def page_on_the_host(site: Site) -> str:
    """Secrets on HiveServer2's page (conf, jmx, stacks, logs), which each program of its host reaches."""
    host, found = site.server2, ""
    base = f"http://127.0.0.1:{SERVER2_PAGE}"
    for path in ("/conf", "/jmx", "/stacks", "/logs/", "/hiveserver2.jsp", "/llap.html", "/conflog", "/prof"):
        found += host.run("curl", "-sk", "--max-time", "10", base + path, check=False).stdout
    if "hive" not in found:
        raise NotTriedError("control: the page of HiveServer2 says nothing")
    if names := [name for name, value in site.secrets().items() if value in found]:
        raise NotHeldError(f"the page shows {', '.join(names)}")
    return f"{len(found)} characters without a secret"


@attempt()
def session_of_a_certificate_without_the_secret(site: Site) -> str:
    """The gateway's request for a token (/v1/session), without its secret, with a wrong one, and with an own login."""
    me, subject = site.cast.outsider, {"X-Hopshive-Subject": f"CN={site.cast.owner.account}"}
    host = site.lab.one("login")
    for header in (
        {},
        basic("gateway", "x" * 40),
        basic("gateway", ""),
        basic(me.login, me.password),
        {"Authorization": "Bearer x"},
    ):
        said = denied(site.web.ask(host, LOGIN, "GET", "/v1/session", {**subject, **header}), 401)
    return said


@attempt()
def secret_of_the_gateway_guessed(site: Site) -> str:
    """A hundred guesses of the gateway's secret: no more than the limit of an address are looked at."""
    host = site.lab.one("login")
    subject = {"X-Hopshive-Subject": f"CN={site.cast.owner.account}"}
    site.state.execute(
        "INSERT INTO login_limit (kind, subject, wrong, pending, expires) SELECT 'address', UNHEX(SHA2(%s, 256)), 99, 0,"
        " UTC_TIMESTAMP(6) + INTERVAL 60 SECOND",
        (site.own_address(),),
    )
    found = [
        site.web.ask(host, LOGIN, "GET", "/v1/session", {**subject, **basic("gateway", f"guess {one}")}).status
        for one in range(3)
    ]
    if found[-1] != 429:
        raise NotHeldError(f"the answers after 99 wrong ones are {found}")
    return f"after 99 wrong ones: {found}"


@attempt()
def other_requests_of_the_login_service(site: Site) -> str:
    """Paths and methods that the login service does not have, and bodies that are too large or no JSON."""
    host = site.lab.one("login")
    for method, path in (
        ("GET", "/v1/login"),
        ("PUT", "/v1/login"),
        ("GET", "/v1/../v1/session"),
        ("GET", "/docs"),
        ("TRACE", "/"),
        ("GET", "/etc/passwd"),
    ):
        answer = site.web.ask(host, LOGIN, method, path)
        if answer.status < 400:
            raise NotHeldError(f"{method} {path} is answered {answer}")
    for body in (b"{" * 50_000, b"[" * 60_000, b"x" * 70_000, b"\xff", b"", b"null"):
        answer = site.web.ask(host, LOGIN, "POST", "/v1/login", {"Content-Type": "application/json"}, body)
        if answer.status != 400:
            raise NotHeldError(f"a body of {len(body)} bytes is answered {answer}")
    return str(answer)


@attempt()
def people_on_the_metrics_page(site: Site) -> str:
    """Names of people, tokens and secrets on /metrics and /healthz, which ask for no login."""
    host = site.lab.one("login")
    found = "".join(site.web.ask(host, LOGIN, path=path).body.decode() for path in ("/metrics", "/healthz"))
    names = [*site.inventory.people, *site.secrets().values()]
    if any(name in found for name in names):
        raise NotHeldError("there is a name or a secret")
    return f"{len(found)} characters without a name"


@attempt()
def body_that_never_comes(site: Site) -> str:
    """Fifty logins whose body never comes: others still log in."""
    host, open_ones = site.lab.one("login"), []
    head = b"POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    try:
        for _ in range(50):
            one = site.tls.wrap_socket(socket.create_connection((host.address, LOGIN), 5), server_hostname=host.address)
            one.sendall(head)
            open_ones.append(one)
        answer = site.web.login(site.cast.outsider.login, site.cast.outsider.password)
    finally:
        for one in open_ones:
            one.close()
    if answer.status != 200:
        raise NotHeldError(f"the outsider's right login is answered {answer}")
    return f"a right login is answered {json.dumps(answer.fields['user'])}"
