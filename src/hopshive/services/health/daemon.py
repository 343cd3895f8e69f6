"""hopshive's own services: the daemon, over its metrics, the login service, and the gateway."""

from __future__ import annotations

import json

from hopshive.services.health.answer import Facts, NoAnswer, Target, WrongAnswer
from hopshive.services.health.http import fetch


def ask_cleaner(target: Target, timeout: float) -> Facts:
    """`/metrics`: the daemon leads and no duty fails, or it is a standby. With `cleaners`, exactly one of all must lead."""
    own = f"{'https' if target.authority else 'http'}://{target.place}"
    found = _metrics(own, timeout, target.authority)
    leads = found.get("hopshive_leader") == 1
    failing = [name for name, value in found.items() if name.startswith("hopshive_failing") and value]
    if failing:
        raise NoAnswer(f"it leads, but cannot do its work: {', '.join(failing)}")
    facts: Facts = {"state": "leading" if leads else "standby", "epoch": int(found.get("hopshive_epoch", 0))}
    leaders = [own] if leads else []
    for other in {url.rstrip("/") for url in target.cleaners} - {own}:
        try:
            leaders += [other] if _metrics(other, timeout, target.authority).get("hopshive_leader") == 1 else []
        except NoAnswer:
            continue
    if target.cleaners and len(leaders) != 1:
        raise NoAnswer(f"{len(leaders) or 'none'} of {', '.join(target.cleaners)} lead; exactly one must")
    return facts


def ask_login(target: Target, timeout: float) -> Facts:
    """`/healthz`, so it reaches its database and its back end; the number of keys whose tokens it accepts."""
    base = f"https://{target.place}"
    fetch(f"{base}/healthz", timeout, authority=target.authority)
    try:
        found = json.loads(fetch(f"{base}/.well-known/jwks.json", timeout, authority=target.authority))
        return {"keys": len(found["keys"])}
    except (ValueError, TypeError, KeyError):
        raise WrongAnswer("it has no public keys: something else listens there") from None


def ask_gateway(target: Target, timeout: float) -> Facts:
    """A refusal for want of a client certificate, by a port whose own certificate is right."""
    try:
        found = json.loads(fetch(f"https://{target.place}/", timeout, authority=target.authority, status=401))
        if found["error"] == "certificate":
            return {}
    except (ValueError, TypeError, KeyError):
        pass
    raise WrongAnswer("it does not ask for a client certificate as a gateway does: something else listens there")


def _metrics(base: str, timeout: float, authority: str) -> dict[str, float]:
    """Each series of a daemon's metrics, with its value. Raises NoAnswer and WrongAnswer."""
    lines = fetch(f"{base}/metrics", timeout, authority=authority).decode(errors="replace").splitlines()
    series = (line.rpartition(" ") for line in lines if line.startswith("hopshive_"))
    found = {name: float(value) for name, _, value in series}
    if "hopshive_leader" not in found:
        raise WrongAnswer("it has no metric hopshive_leader: something else listens there")
    return found
