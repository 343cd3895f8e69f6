"""The shared templates, rendered by Ansible's own templar."""

import xml.etree.ElementTree as ElementTree  # the rendered text is our own
from pathlib import Path
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).parents[2]


def render(name: str, **variables: Any) -> str:
    templar = Templar(loader=DataLoader(), variables={"cluster_managed": "by hand & by hopshive", **variables})
    text = (ROOT / "templates" / name).read_text()
    return str(templar.template(trust_as_template(text)))


def properties_of(document: str) -> dict[str, str | None]:
    root = ElementTree.fromstring(document)  # noqa: S314 - our own text
    return {str(item.findtext("name")): item.findtext("value") for item in root.findall("property")}


def test_a_site_file_escapes_what_xml_would_misread() -> None:
    url = "jdbc:mysql://db/x?a=1&b=<2>"
    assert properties_of(render("site.xml.j2", properties={"url": url})) == {"url": url}


def test_a_site_file_writes_booleans_as_hadoop_reads_them() -> None:
    assert properties_of(render("site.xml.j2", properties={"a": True, "b": False})) == {"a": "true", "b": "false"}


def test_a_site_file_leaves_out_what_is_null_and_sorts_the_rest() -> None:
    assert list(properties_of(render("site.xml.j2", properties={"z": 1, "gone": None, "a": 2}))) == ["a", "z"]


def test_a_launcher_refuses_a_command_that_it_does_not_know() -> None:
    import subprocess  # only this test runs what it renders

    launcher = {"name": "hdfs", "classpath": ["/x/*"], "classes": {"dfs": "org.example.Shell"}}
    script = render("launcher.sh.j2", launcher=launcher, cluster_java_home="/java", cluster_jvm_opens_arguments="")
    run = subprocess.run(["sh", "-c", script, "hdfs", "nonsense"], capture_output=True, text=True, check=False)
    assert run.returncode == 64
    assert "hdfs: unknown command 'nonsense'" in run.stderr
    assert "commands: dfs" in run.stderr
