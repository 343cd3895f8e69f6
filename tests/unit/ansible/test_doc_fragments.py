"""Options that several modules share are documented as they are declared."""

from __future__ import annotations

import yaml

from doc_fragments.login import ModuleDocFragment
from module_utils.hopshive_module import LOGIN


def test_the_options_of_a_login_are_documented_as_they_are_declared() -> None:
    documented = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]
    declared = {
        name: {key: value for key, value in option.items() if key != "no_log"} for name, option in LOGIN.items()
    }
    assert {
        name: {key: value for key, value in option.items() if key != "description"}
        for name, option in documented.items()
    } == declared
