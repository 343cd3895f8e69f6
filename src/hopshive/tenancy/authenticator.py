"""Registers the login service as the authenticator of a HiveServer2, in a configuration directory that anyone wrote.

The properties go to hiveserver2-site.xml, which only HiveServer2 reads, after hive-site.xml. The rules by which HDFS and YARN
let HiveServer2 act as other users go to a core-site.xml. What was there before is kept in a record beside the configuration,
so that an unregistration gives it back.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import tempfile
import urllib.request
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopshive.tenancy import site_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SITE = "hiveserver2-site.xml"
HIVE_SITE = "hive-site.xml"
CORE_SITE = "core-site.xml"
RECORD = ".hopshive-authenticator.json"
JAR = "hopshive-login.jar"
PACKAGE = "hopshive.login"


class AuthenticatorError(Exception):
    """Why nothing was changed, as a sentence for the operator."""


@dataclass(frozen=True)
class Service:
    """The login service as HiveServer2 asks it. Times are in seconds.

    `authority` is a file of certificates in PEM, "" for those of the JVM. `recheck` is how long an HTTP client's login counts
    before the service is asked again. `account` is one that HiveServer2 lets in without the service, for health checks.
    """

    urls: tuple[str, ...]
    authority: str = ""
    timeout: float = 5
    deadline: float = 15
    recheck: float = 30
    account: str = ""

    def properties(self) -> dict[str, str]:
        """What the classes of HiveServer2 read."""
        found = {
            "hopshive.login.urls": ",".join(self.urls),
            "hopshive.login.timeout.ms": f"{self.timeout * 1000:.0f}",
            "hopshive.login.deadline.ms": f"{self.deadline * 1000:.0f}",
            "hopshive.login.recheck.ms": f"{self.recheck * 1000:.0f}",
        }
        more = {"hopshive.login.authority.file": self.authority, "hopshive.login.service.user": self.account}
        return found | {name: value for name, value in more.items() if value}


def properties(service: Service, *, as_project_user: bool) -> dict[str, str]:
    """The properties of a HiveServer2 whose users log in through the service.

    Files are read and written as the project's user, or, without `as_project_user`, as the user that runs HiveServer2.
    """
    session = "hive.session.impl.withugi.classname" if as_project_user else "hive.session.impl.classname"
    return {
        "hive.server2.authentication": "CUSTOM",
        "hive.server2.custom.authentication.class": f"{PACKAGE}.LoginAuthenticator",
        "hive.security.authenticator.manager": f"{PACKAGE}.SessionAuthenticator",
        "hive.server2.enable.doAs": "true" if as_project_user else "false",
        session: f"{PACKAGE}.ProjectSession" if as_project_user else f"{PACKAGE}.ServiceSession",
        # Otherwise an e-mail address loses its part from the @ on.
        "hive.security.authorization.kerberos.use.shortname": "false",
        # Otherwise hive.server2.proxy.user and doAs of a URL name another user.
        "hive.server2.allow.user.substitution": "false",
        # A cookie would stand for a login for a day, whatever is revoked.
        "hive.server2.thrift.http.cookie.auth.enabled": "false",
    } | service.properties()


def proxy_user_rules(user: str, hosts: Sequence[str], groups: Sequence[str]) -> dict[str, str]:
    """The properties by which the NameNode and the ResourceManager let `user` act as others, from some hosts."""
    return {f"hadoop.proxyuser.{user}.hosts": ",".join(hosts), f"hadoop.proxyuser.{user}.groups": ",".join(groups)}


@dataclass(frozen=True)
class Registration:
    """What a registration writes: properties of each file, and a jar to copy. Paths are absolute.

    `jar` is None when the classes of HiveServer2's class path have it already.
    """

    configuration: Path
    files: Mapping[Path, Mapping[str, str]]
    jar: Path | None = None
    library: Path | None = None


@dataclass
class Change:
    """What a registration or an unregistration does: new contents, None for a file that goes."""

    contents: dict[Path, bytes | None] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    # Properties that someone else changed since the registration, and that stay.
    kept: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.contents)


def plan_present(wanted: Registration) -> Change:
    """The change that registers; an empty one if everything is there.

    Raises:
        AuthenticatorError: a file is missing or malformed, or a property is final in hive-site.xml.
    """
    _require_directory(wanted.configuration)
    _refuse_final(wanted)
    record = _read_record(wanted.configuration)
    change = Change()
    known: dict[str, Any] = {}
    for path in sorted(set(wanted.files) | {Path(name) for name in record.get("files", {})}):
        values = dict(wanted.files.get(path, {}))
        entry = record.get("files", {}).get(str(path)) or {"created": not path.exists(), "original": {}, "set": {}}
        content = path.read_bytes() if path.exists() else site_file.EMPTY
        site = _read_site(content, path)
        original = {name: entry["original"].get(name, site.text(name)) for name in values}
        texts = {name: site_file.element_of(name, value) for name, value in values.items()}
        texts |= {name: text for name, text in entry["original"].items() if name not in values}
        texts = {name: text for name, text in texts.items() if _differs(site, name, text, values)}
        _note(change, path, site, texts)
        if texts:
            change.contents[path] = site.replaced(texts)
        if values:
            known[str(path)] = {"created": entry["created"], "original": original, "set": values}
    _plan_jar(change, wanted, record)
    new = {"files": known} | ({"jar": str(wanted.library / JAR)} if wanted.jar and wanted.library else {})
    if new != record:
        change.contents = {wanted.configuration / RECORD: _encoded(new), **change.contents}
    return change


def plan_absent(configuration: Path) -> Change:
    """The change that gives back what was there before the registration; an empty one without a registration.

    A property that someone changed since stays as it is, and is named in `kept`.

    Raises:
        AuthenticatorError: a file is malformed.
    """
    _require_directory(configuration)
    record = _read_record(configuration)
    change = Change()
    for name, entry in sorted(record.get("files", {}).items()):
        path = Path(name)
        if not path.exists():
            continue
        site = _read_site(path.read_bytes(), path)
        texts = {}
        for key, value in entry["set"].items():
            if site.value(key) == value:
                texts[key] = entry["original"][key]
            elif site.value(key) is not None:
                change.kept.append(f"{path}: {key}")
        _note(change, path, site, texts)
        content = site.replaced(texts)
        gone = entry["created"] and content == site_file.EMPTY
        if gone or content != site.content:
            change.contents[path] = None if gone else content
    jar = record.get("jar")
    if jar and Path(jar).exists():
        change.contents[Path(jar)] = None
        change.before[jar], change.after[jar] = "present", "absent"
    if record:
        # Last: an unregistration that was interrupted can be repeated.
        change.contents[configuration / RECORD] = None
    return change


def carry_out(change: Change) -> None:
    """Write the contents, each file at once, with the owner and mode that the file had.

    Raises:
        AuthenticatorError: a file cannot be written.
    """
    for path, content in change.contents.items():
        try:
            if content is None:
                path.unlink(missing_ok=True)
            else:
                _write(path, content)
        except OSError as error:
            raise AuthenticatorError(
                f"{path} could not be written: {error.strerror}. Run this again afterwards."
            ) from error


def unreachable(service: Service) -> list[str]:
    """Why each replica that does not answer cannot be used, as "URL: reason". HiveServer2 works as long as one answers.

    Raises:
        AuthenticatorError: the authority's file cannot be read, or a URL is none.
    """
    try:
        context = ssl.create_default_context(cafile=service.authority or None)
    except (OSError, ssl.SSLError) as error:
        raise AuthenticatorError(f"authority: {service.authority} cannot be read as certificates: {error}") from error
    found = []
    for url in service.urls:
        if not url.startswith(("http://", "https://")):
            raise AuthenticatorError(f"urls: {url} is no URL of http or https.")
        try:
            with urllib.request.urlopen(  # noqa: S310 - the scheme is checked
                f"{url.rstrip('/')}/healthz", timeout=service.timeout, context=context
            ):
                pass
        except (OSError, ValueError) as error:
            found.append(f"{url}: {getattr(error, 'reason', None) or error}")
    return found


def _differs(site: site_file.SiteFile, name: str, text: str, values: Mapping[str, str]) -> bool:
    """Whether a property must be written. One that says the wanted value already stays as its author wrote it."""
    if name in values:
        return site.value(name) != values[name]
    return site.text(name) != text


def _note(change: Change, path: Path, site: site_file.SiteFile, texts: Mapping[str, str]) -> None:
    """Put the values of changed properties into the difference that is shown. No value of these properties is a secret."""
    if texts:
        after = _read_site(site.replaced(texts), path)
        change.before[str(path)] = {name: site.value(name) for name in sorted(texts)}
        change.after[str(path)] = {name: after.value(name) for name in sorted(texts)}


def _plan_jar(change: Change, wanted: Registration, record: Mapping[str, Any]) -> None:
    old = record.get("jar")
    target = wanted.library / JAR if wanted.jar and wanted.library else None
    if old and (target is None or Path(old) != target):
        change.contents[Path(old)] = None
        change.before[old], change.after[old] = "present", "absent"
    if wanted.jar and target:
        if not wanted.jar.is_file():
            raise AuthenticatorError(f"jar: {wanted.jar} is not on this host.")
        _require_directory(target.parent)
        content = wanted.jar.read_bytes()
        present = target.read_bytes() if target.exists() else None
        if present != content:
            change.contents[target] = content
            change.before[str(target)] = sha256(present).hexdigest() if present is not None else "absent"
            change.after[str(target)] = sha256(content).hexdigest()


def _refuse_final(wanted: Registration) -> None:
    """hiveserver2-site.xml cannot change what hive-site.xml calls final."""
    path = wanted.configuration / HIVE_SITE
    if not path.exists():
        raise AuthenticatorError(
            f"{path} is missing: {wanted.configuration} is not the configuration of a HiveServer2."
        )
    site = _read_site(path.read_bytes(), path)
    for name, value in wanted.files.get(wanted.configuration / SITE, {}).items():
        if any(element.final for element in site.named(name)) and site.value(name) != value:
            raise AuthenticatorError(f"{path} has {name} as final, with another value. Remove <final> there.")


def _require_directory(path: Path) -> None:
    if not path.is_dir():
        raise AuthenticatorError(f"{path} is not a directory on this host.")


def _read_site(content: bytes, path: Path) -> site_file.SiteFile:
    try:
        return site_file.read(content, str(path))
    except site_file.SiteFileError as error:
        raise AuthenticatorError(str(error)) from error


def _read_record(configuration: Path) -> dict[str, Any]:
    path = configuration / RECORD
    if not path.exists():
        return {}
    try:
        record: dict[str, Any] = json.loads(path.read_bytes())
    except ValueError as error:
        raise AuthenticatorError(
            f"{path}, the record of what was there before the registration, is damaged: {error}. "
            "Bring it back from a backup, or remove it, and set the properties by hand."
        ) from error
    return record


def _encoded(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, indent=1, sort_keys=True) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    """Replace a file, or what a link points to; at no moment is half of it there. A new one has mode 0644, the record 0600."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            status = path.stat()
            shutil.copymode(path, partial)
            os.chown(partial, status.st_uid, status.st_gid)
        else:
            partial.chmod(0o600 if path.name == RECORD else 0o644)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
