"""What `make bench-tenancy` makes of its measurements, and of the files of a lab's services."""

from __future__ import annotations

import json

import click
import pytest
import yaml

from tests.bench.tenancy import section
from tests.bench.tenancy_deploy import OFF, ON, figures
from tests.bench.tenancy_logins import Found, asked, measurements
from tests.bench.tenancy_servers import SECURITY, SECURITY_HOOKS, edited
from tests.bench.tenancy_sessions import result_figures, session_figures, statements, understood
from tests.warehouse.hosts import ROOT, read_lab

SITE = """<configuration>
  <property><name>hive.server2.use.SSL</name><value>true</value></property>
  <property><name>hive.security.authorization.enabled</name><value>true</value></property>
  <property><name>hive.server2.thrift.port</name><value>10000</value></property>
  <property><name>hive.semantic.analyzer.hook</name><value>hopshive.AnswerGuard,hopshive.Confinement,hopshive.LockRetry</value></property>
  <property><name>hive.server2.session.hook</name><value>hopshive.SessionRules</value></property>
</configuration>"""


def test_a_site_without_security_keeps_all_else() -> None:
    text = edited(SITE, {"hive.server2.thrift.port": "1"}, SECURITY, SECURITY_HOOKS)
    assert "SSL" not in text
    assert "hive.security" not in text
    assert "<value>hopshive.AnswerGuard,hopshive.LockRetry</value>" in text
    assert "SessionRules" not in text
    assert text.count("hive.server2.thrift.port") == 1
    assert "<name>hive.server2.thrift.port</name><value>1</value>" in text


def test_a_site_as_the_labs_own_has_its_security() -> None:
    text = edited(SITE, {"hive.server2.thrift.port": "1"})
    assert "hive.security.authorization.enabled" in text
    assert "hopshive.Confinement" in text


def test_sessions_are_compared_with_those_without_login_of_the_same_transport() -> None:
    taken = {
        "off": [(100.0, 10.0, 1.0)] * 3,
        "off, HTTP": [(200.0, 10.0, 1.0)] * 3,
        "token": [(120.0, 10.0, 1.0)] * 3,
        "password": [(140.0, 10.0, 1.0)] * 3,
        "gateway": [(220.0, 10.0, 1.0)] * 3,
    }
    found = {one.what: one for one in session_figures(taken)}
    assert found["open a session, TLS and token against without login and TLS"].value == pytest.approx(1.2)
    assert not found["open a session, TLS and password against without login and TLS"].ok
    through = found["open a session, gateway with certificate against without login and TLS over HTTP"]
    assert through.value == pytest.approx(1.1)
    assert through.target is None


def test_a_result_through_the_gateway_has_a_target_of_its_own() -> None:
    found = {
        one.what: one
        for one in result_figures(
            {"off": [1.0, 3.0, 2.0], "off, HTTP": [2.0], "password": [2.8], "gateway": [2.8]}, 100
        )
    }
    assert found["a result of 100 MB, without login and TLS"].value == 2.0
    assert not found["a result of 100 MB, TLS and password against without login and TLS"].ok
    assert found["a result of 100 MB, gateway with certificate against without login and TLS over HTTP"].ok


def test_logins_are_counted_and_timed() -> None:
    rate, middle, slowest = measurements(8, 2, "token", Found([10.0, 30.0, 20.0], [1.0, 2.0, 50.0]))
    assert (rate.what, rate.value) == ("logins by token, 2 replicas, 8 clients", 20.0)
    assert (middle.value, slowest.value) == (2.0, 50.0)


def test_a_request_of_a_login_shows_no_password() -> None:
    login = asked("alice@example.org", "hidden", "sales")
    assert "hidden" not in repr(login)
    assert json.loads(login.body) == {"name": "alice@example.org", "password": "hidden", "database": "sales"}


def test_an_error_of_the_jdbc_client_ends_the_benchmark_with_its_words() -> None:
    assert understood("> ok 12 34\n") == ["12", "34"]
    with pytest.raises(click.ClickException, match="session off: no route"):
        understood("> error session off: no route\n")


def test_the_table_of_a_result_has_as_many_rows_and_columns_as_are_read() -> None:
    drop, create = statements(10)
    assert drop == "DROP TABLE IF EXISTS bench_result"
    assert create.count(" AS c") == 10
    assert "space(9)" in create


def test_a_deployment_is_compared_by_medians() -> None:
    found = {one.what: one for one in figures({"on": [500.0, 520.0], "off": [400.0, 420.0]}, {"on": 9, "off": 5})}
    times = found["deployment with all of it against without"]
    assert times.value == pytest.approx(510 / 410)
    assert times.ok


def test_deployments_with_and_without_have_the_same_hosts() -> None:
    (off,) = OFF
    lab = read_lab(ROOT / off)
    more = yaml.safe_load((ROOT / ON[1] / "hosts.yml").read_text())["hopshive"]["children"]
    assert {"login", "gateway"} == set(more)
    assert {host for group in more.values() for host in group["hosts"]} <= set(lab.hosts)


def test_the_section_has_a_line_a_figure_and_says_what_was_missed() -> None:
    fields = {"what": "a", "value": 2.0, "unit": "times", "target": 1.3, "at_least": False, "ok": False}
    text = section({"sessions": {"load": 2.5, "processors": 2, "measurements": [fields]}})
    assert "| a | 2 times | <= 1.3 **missed** |" in text
    assert "2 processors" in text
    assert "up to 2.5" in text


def test_figures_of_production_have_a_table_of_their_own() -> None:
    def row(what: str) -> dict[str, object]:
        fields = {"what": what, "value": 2.0, "unit": "s", "target": None, "at_least": False, "ok": True}
        return {"load": 1.0, "processors": 2, "measurements": [fields]}

    text = section({"results": row("lab"), "results with both compilers": row("production")})
    lab, _, production = text.partition("With both compilers")
    assert "| lab |" in lab
    assert "| production |" not in lab
    assert "| production |" in production
