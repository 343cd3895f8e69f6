"""The shared templates, rendered by Ansible's own templar."""

from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from tests.support.servers import ROOT


def render(name: str, **variables: Any) -> str:
    """One of templates/."""
    templar = Templar(loader=DataLoader(), variables={"cluster_managed": "by hand & by hopshive", **variables})
    text = (ROOT / "templates" / name).read_text()
    return str(templar.template(trust_as_template(text)))
