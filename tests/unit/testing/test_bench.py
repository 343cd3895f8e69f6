import json
from pathlib import Path

from tests.bench.measurement import Measurement, write
from tests.bench.recap import HostRecap, read

OUTPUT = """\
fatal: [a]: FAILED! => changed=9
PLAY RECAP *********************************************************************
bench-edge                 : ok=41   changed=0    unreachable=0    failed=0    skipped=3    rescued=0    ignored=0
\x1b[0;33mlocalhost\x1b[0m                  : \x1b[0;32mok=7   \x1b[0m \x1b[0;33mchanged=2   \x1b[0m unreachable=0 failed=1
"""


def test_recap_is_read_with_and_without_colours() -> None:
    assert read(OUTPUT) == [HostRecap("bench-edge", 41, 0, 0, 0), HostRecap("localhost", 7, 2, 0, 1)]


def test_run_that_ended_early_has_no_recap() -> None:
    assert read("ERROR! no such playbook") == []


def test_measurement_is_well_up_to_its_target() -> None:
    assert Measurement("x", 480, "s", 480).ok
    assert not Measurement("x", 480.1, "s", 480).ok
    assert Measurement("x", 1e9, "s").ok


def test_measurement_with_a_least_value_is_well_from_there_on() -> None:
    assert Measurement("x", 20, "times", 20, at_least=True).ok
    assert not Measurement("x", 19.9, "times", 20, at_least=True).ok


def test_target_is_shown_with_its_direction() -> None:
    assert Measurement("x", 1, "s", 5).promise == "<= 5"
    assert Measurement("x", 1, "s", 5, at_least=True).promise == ">= 5"
    assert Measurement("x", 1, "s").promise == ""


def test_file_lists_what_value_unit_target_and_ok(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.json"
    write([Measurement("x", 3, "s", 2)], path)
    expected = {"what": "x", "value": 3, "unit": "s", "target": 2, "at_least": False, "ok": False}
    assert json.loads(path.read_text()) == [expected]
