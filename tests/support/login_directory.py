"""Debian's slapd in a temporary directory, with a few people."""

from __future__ import annotations

import shutil
import socket
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.servers import free_port, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.authority import Pair

BASE = "dc=example,dc=org"
ADMIN = f"cn=admin,{BASE}"
ADMIN_PASSWORD = "the-service-account"
_CONF = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
pidfile {directory}/pid
TLSCACertificateFile {authority}
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
security simple_bind=128
database mdb
suffix "{base}"
rootdn "{admin}"
rootpw {password}
directory {directory}/data
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to * by self read by dn.exact="{admin}" read by * none
"""
_LDIF = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=projects,{BASE}
objectClass: organizationalUnit
ou: projects

dn: uid=alice,ou=people,{BASE}
objectClass: inetOrgPerson
uid: alice
cn: Alice
sn: A
mail: alice@example.org
userPassword: wonder:land

dn: uid=bob,ou=people,{BASE}
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: B
mail: bob@example.org
userPassword: builder123456

dn: uid=Carol,ou=people,{BASE}
objectClass: inetOrgPerson
uid: Carol
cn: Carol
sn: C
userPassword: upper

dn: cn=sales,ou=projects,{BASE}
objectClass: groupOfNames
cn: sales
member: uid=alice,ou=people,{BASE}
"""


@dataclass(frozen=True)
class Slapd:
    """Where it listens: `plain` with StartTLS, `secure` with TLS from the start."""

    plain: str
    secure: str


@contextmanager
def run_slapd(directory: Path, authority: Path, pair: Pair) -> Iterator[Slapd]:
    """A new directory on free ports. Simple binds need TLS, as in production."""
    slapd, slapadd = shutil.which("slapd", path="/usr/sbin"), shutil.which("slapadd", path="/usr/sbin")
    if not slapd or not slapadd:
        pytest.skip("no slapd: apt-get install slapd")
    (directory / "data").mkdir(parents=True)
    conf, ldif = directory / "slapd.conf", directory / "people.ldif"
    conf.write_text(
        _CONF.format(
            directory=directory,
            authority=authority,
            certificate=pair.certificate,
            key=pair.key,
            base=BASE,
            admin=ADMIN,
            password=ADMIN_PASSWORD,
        )
    )
    ldif.write_text(_LDIF)
    made = subprocess.run([slapadd, "-f", str(conf), "-l", str(ldif)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    plain, secure = free_port(), free_port()
    found = Slapd(f"ldap://localhost:{plain}", f"ldaps://localhost:{secure}")
    argv = [slapd, "-f", str(conf), "-d", "0", "-h", f"{found.plain} {found.secure}"]

    def answers() -> bool:
        with suppress(OSError), socket.create_connection(("localhost", secure), 1):
            return True
        return False

    with running(argv, directory / "log", {}):
        wait_until(answers, "slapd", directory / "log")
        yield found
