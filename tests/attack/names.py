"""Names and passwords."""

from __future__ import annotations

import statistics
import struct
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from tests.attack.attempt import NotHeldError, NotTriedError, attempt, register
from tests.attack.site import SERVER2_PORT, sentence
from tests.attack.web import basic
from tests.warehouse.hiveserver2 import HiveError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.attack.inventory import Person
    from tests.attack.site import Site
    from tests.attack.web import Answer

# Wrong attempts of a name and of an address that the login service looks at (roles/login/defaults).
LIMIT_NAME, LIMIT_ADDRESS = 10, 100
# Seconds by which medians of two kinds of refusals may differ on a busy machine.
ALIKE = 0.25
# What the login service says of a password that it looked at.
WRONG = "The name, the password or the one-time code is wrong"


def denied(answer: Answer, *statuses: int) -> str:
    """The refusal of the login service. Raises NotHeldError unless it has one of the statuses."""
    if answer.status not in (statuses or (400, 401, 403, 429)):
        raise NotHeldError(f"the login service answered {answer}")
    return str(answer)


def together(*ways: Callable[[], str]) -> str:
    """What the first way was answered, of several that are tried at once: each refusal of a login takes a second."""
    with ThreadPoolExecutor(len(ways)) as pool:
        asked = [pool.submit(way) for way in ways]
    answers = [one.result() for one in asked]
    return answers[0]


def over_http(site: Site, name: str, password: str, database: str = "") -> str:
    """The refusal of a session at HiveServer2's port for HTTP. Raises NotHeldError with the user that was let in."""
    try:
        user = site.http(basic(name, password), database).whose()
    except HiveError as error:
        return sentence(error)
    raise NotHeldError(f"let in over HTTP as {user}")


def right(site: Site) -> None:
    """The control: the right name and password are accepted. Raises NotTriedError."""
    site.web.token(site.cast.outsider)


def _everywhere(site: Site, name: str, password: str, database: str = "") -> str:
    """Refused by the login service, and by HiveServer2."""
    return together(
        lambda: denied(site.web.login(name, password, database=database)),
        lambda: site.login_refused(name, password, database),
    )


NAMES = {
    "empty name": ("{empty}", "A login without a name."),
    "name of a service": ("hive", "The name of HiveServer2's own user, whose rights are all files."),
    "name of the superuser": ("hdfs", "The name of the superuser of HDFS."),
    "name root": ("root", "The name root."),
    "account of the health checks": (
        "hopshive-check",
        "The account that HiveServer2 lets in without the login service.",
    ),
    "account in place of the login name": ("{account}", "The owner's account with the owner's password."),
    "project user as a name": ("{user}", "The owner's project user with the owner's password."),
    "name with a slash": (
        "{login}/admin",
        "A name as Kerberos has them, of which Hive would take the part before the slash.",
    ),
    "name with a newline": ("{login}\nforged=yes", "A name with a line of its own for the log."),
    "name with NUL": ("{login}\0x", "A name that ends early for whoever reads up to NUL."),
    "name with spaces": (" {login} ", "A name with spaces, which databases leave out of comparisons."),
    "name of SQL": ("' OR 1=1 -- ", "A name that is SQL."),
    "name of LDAP": ("*)(uid=*", "A name that is a filter of LDAP."),
    "name of 10,000 characters": ("{long}", "A name that is far too long."),
    "name in Cyrillic letters": ("{cyrillic}", "The owner's name with a letter that looks the same."),
    "name in full width": ("{wide}", "The owner's name in letters that Unicode takes for the same."),
}


def _named(site: Site, template: str) -> str:
    owner = site.cast.owner
    made = {
        "empty": "",
        "account": owner.account,
        "user": site.cast.owner_user,
        "login": owner.login,
        "long": "a" * 10_000,
        "cyrillic": owner.login.replace("a", "\u0430", 1),
        "wide": "".join(chr(ord(one) + 0xFEE0) if one.isalnum() else one for one in owner.login),
    }
    name = template.format(**made) if "'" not in template else template
    if template == "{wide}" and unicodedata.normalize("NFKC", name) != owner.login:
        raise NotTriedError("the letters are not those that stand for others")
    return _everywhere(site, name, owner.password)


for _name, (_template, _sentence) in NAMES.items():
    register(_name, "names", _sentence, partial(_named, template=_template))

PASSWORDS = {
    "empty password": ("", "The owner's name without a password."),
    "password of 10,000 characters": ("p" * 10_000, "A password that is far too long."),
    "password with a colon": ("x:{password}", "A password that HTTP Basic could cut at the colon."),
    "password with NUL": ("{password}\0x", "The right password, NUL, and more."),
    "password with a newline": ("{password}\n", "The right password and a newline."),
    "password in upper case": ("{upper}", "The right password in upper case."),
    "password of another person": ("{other}", "The outsider's own password for the owner's name."),
}


def _with_password(site: Site, template: str) -> str:
    owner, other = site.cast.owner, site.cast.outsider
    made = {"password": owner.password, "upper": owner.password.swapcase(), "other": other.password}
    right(site)
    password = template.format(**made)
    return together(lambda: _everywhere(site, owner.login, password), lambda: over_http(site, owner.login, password))


for _name, (_template, _sentence) in PASSWORDS.items():
    register(_name, "names", _sentence, partial(_with_password, template=_template))


@attempt()
def authorization_id_of_another(site: Site) -> str:
    """SASL PLAIN with the own name and password, and the owner as the user to act as."""
    me = site.cast.outsider
    return site.plain_refused(f"{site.cast.owner_user}\0{me.login}\0{me.password}".encode())


@attempt()
def login_of_too_many_parts(site: Site) -> str:
    """SASL PLAIN with the owner's name behind the own password."""
    me, owner = site.cast.outsider, site.cast.owner
    return site.plain_refused(f"\0{me.login}\0{me.password}\0{owner.login}".encode())


@attempt()
def login_that_is_no_utf8(site: Site) -> str:
    """SASL PLAIN with bytes that are no text."""
    return site.plain_refused(b"\0\xff\xfe\0" + site.cast.outsider.password.encode())


@attempt()
def login_left_out(site: Site) -> str:
    """Thrift's calls on the binary port without a login."""
    data = struct.pack(">I", 0x80010001) + struct.pack(">i", 11) + b"OpenSession" + struct.pack(">i", 1) + b"\0"
    found = site.web.raw(site.server2, 10000, struct.pack(">i", len(data)) + data)
    if b"OpenSession" in found:
        raise NotHeldError(f"HiveServer2 answered {found[:100]!r}")
    return f"{len(found)} bytes, and no session"


@attempt()
def fields_that_are_no_texts(site: Site) -> str:
    """A name that is a list, a password that is true, a body that is a list: JSON that a comparison could take for equal."""
    owner = site.cast.owner
    for name, password in (([owner.login], owner.password), (owner.login, True), ({"$ne": ""}, {"$ne": ""})):
        denied(site.web.login(name, password), 400)
    return denied(site.web.post("/v1/login", [owner.login, owner.password]), 400)


@attempt()
def one_time_code_left_out(site: Site) -> str:
    """The right password of a person with a one-time code, without the code, and with a wrong one."""
    coder = _coder(site)
    denied(site.web.login(coder.login, coder.password), 401)
    denied(site.web.login(coder.login, coder.password, code="000000"), 401)
    return site.login_refused(coder.login, coder.password)


@attempt()
def one_time_code_again(site: Site) -> str:
    """A one-time code that was used, which somebody saw on the screen, within its half minute."""
    coder = _coder(site)
    code = coder.code()
    first = site.web.login(coder.login, coder.password, code=code)
    # Somebody else may have used it a moment ago.
    if first.status not in (200, 401):
        raise NotTriedError(f"control: {first}")
    return denied(site.web.login(coder.login, coder.password, code=code), 401)


@attempt()
def one_time_code_of_the_past(site: Site) -> str:
    """A one-time code of ten minutes ago."""
    coder = _coder(site)
    return denied(site.web.login(coder.login, coder.password, code=coder.code(past=20)), 401)


def _coder(site: Site) -> Person:
    if site.cast.coder is None:
        raise NotTriedError("no person of the inventory has a one-time code")
    return site.cast.coder


@attempt()
def log_of_somebody_else(site: Site) -> str:
    """A name that would write a line of its own into the log of the login service."""
    forged = f"{site.marker}-log"
    denied(site.web.login(f"x\nJan 1 host hopshive-login: {forged} logged in", "x"))
    site.heard.clear()
    for host in site.lab.group("login"):
        said = host.run("journalctl", "-u", "hopshive-login", "-o", "cat", "--since", "-2min").stdout
        if any(line.startswith("Jan 1 host") or f"\n{forged}" in line for line in said.splitlines()):
            raise NotHeldError(f"the log of {host.name} has the line")
    return "the log has no such line"


@attempt(slow=True)
def names_found_out_by_time(site: Site) -> str:
    """Wrong passwords of a name that is there and of names that are not: the answer or its time could tell them apart."""

    def one(name: str) -> tuple[float, str]:
        site.forget_limits()
        began = time.monotonic()
        answer = site.web.login(name, "wrong password")
        return time.monotonic() - began, str(answer)

    known = [one(site.cast.owner.login) for _ in range(7)]
    unknown = [one(f"nobody{number}@example.org") for number in range(7)]
    if {said for _, said in known} != {said for _, said in unknown}:
        raise NotHeldError(f"{known[0][1]} against {unknown[0][1]}")
    medians = [statistics.median(seconds for seconds, _ in group) for group in (known, unknown)]
    if abs(medians[0] - medians[1]) > ALIKE:
        raise NotHeldError(f"{medians[0]:.2f} s for a name that is there, {medians[1]:.2f} s for others")
    return f"{known[0][1]} after {medians[0]:.2f} s and {medians[1]:.2f} s"


@attempt(slow=True)
def one_thousand_wrong_passwords(site: Site) -> str:
    """A thousand passwords for one name, many at a time, at both replicas: no more than the limit are looked at."""
    owner = site.cast.owner
    token = site.web.token(owner)
    replicas = len(site.lab.group("login"))

    def guess(number: int) -> int:
        fields = {"name": owner.login, "password": f"guess {number}"}
        return site.web.post("/v1/login", fields, replica=number % replicas).status

    with ThreadPoolExecutor(40) as pool:
        found = list(pool.map(guess, range(1000)))
    looked_at = found.count(401)
    if looked_at > LIMIT_NAME or found.count(200):
        raise NotHeldError(f"{looked_at} guesses were looked at, {found.count(200)} accepted")
    after = site.web.login(owner.login, owner.password)
    if after.status != 429:
        raise NotHeldError(f"the right password was looked at after it: {after}")
    # Whoever has a token works on meanwhile.
    if site.web.login(owner.login, token).status != 200:
        raise NotTriedError("control: the owner's token is refused meanwhile")
    return f"{looked_at} looked at, {found.count(429)} times 429; {after}; the owner's token is accepted"


@attempt()
def address_made_up(site: Site) -> str:
    """Wrong passwords of one name, each with another X-Forwarded-For: the address of a guesser would be ever another one."""

    def guess(number: int) -> int:
        return site.web.login(site.cast.owner.login, "wrong", {"X-Forwarded-For": f"192.0.2.{number}"}).status

    with ThreadPoolExecutor(LIMIT_NAME + 1) as pool:
        found = list(pool.map(guess, range(LIMIT_NAME + 1)))
    if (found.count(401), found.count(429)) != (LIMIT_NAME, 1):
        raise NotHeldError(f"the answers are {found}")
    return f"{LIMIT_NAME} times 401, then 429"


@attempt(slow=True)
def names_by_the_hundred(site: Site) -> str:
    """One password for many names, with made-up addresses: the limit of an address could be dodged."""

    def guess(number: int) -> int:
        header = {"X-Forwarded-For": f"192.0.2.{number}"}
        return site.web.login(f"person{number}@example.org", "Winter2026", header).status

    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(guess, range(LIMIT_ADDRESS + 50)))
    if found.count(401) > LIMIT_ADDRESS:
        raise NotHeldError(f"{found.count(401)} were looked at")
    return f"{found.count(401)} looked at, {found.count(429)} times 429"


@attempt(slow=True)
def everybody_locked_out_by_one(site: Site) -> str:
    """Wrong passwords of many names through a HiveServer2: more than the limit, or nobody else could log in there."""

    def guess(number: int) -> str:
        return site.login_refused(f"person{number}@example.org", "wrong")

    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(guess, range(LIMIT_ADDRESS + 10)))
    looked_at = sum(WRONG in one for one in found)
    if looked_at > LIMIT_ADDRESS:
        raise NotHeldError(f"{looked_at} were looked at")
    owner, victim = site.cast.owner, site.cast.victim
    url = f"jdbc:hive2://{site.server2.name}:{SERVER2_PORT}/{victim};ssl=true"
    query = [
        "beeline",
        "--silent=true",
        "-u",
        url,
        "-n",
        owner.login,
        "-w",
        "/dev/stdin",
        "-e",
        "SELECT current_user()",
    ]
    other = site.lab.one("client").run(*query, stdin=owner.password, check=False)
    if site.cast.owner_user not in other.stdout:
        raise NotHeldError(f"{owner.login} with the right password: {other.stderr[-500:]}")
    return f"{looked_at} looked at; {owner.login} logs in from another host all the same"
