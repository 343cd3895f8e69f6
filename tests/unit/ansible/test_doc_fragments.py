"""Options that several modules share are documented as they are declared."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from doc_fragments import login, service
from module_utils.hopshive_module import LOGIN, SERVICE


@pytest.mark.parametrize(
    ("documentation", "options"),
    [(login.ModuleDocFragment.DOCUMENTATION, LOGIN), (service.ModuleDocFragment.DOCUMENTATION, SERVICE)],
    ids=["login", "service"],
)
def test_shared_options_are_documented_as_they_are_declared(
    documentation: str, options: dict[str, dict[str, Any]]
) -> None:
    documented = yaml.safe_load(documentation)["options"]
    declared = {
        name: {key: value for key, value in option.items() if key != "no_log"} for name, option in options.items()
    }
    assert {
        name: {key: value for key, value in option.items() if key != "description"}
        for name, option in documented.items()
    } == declared
