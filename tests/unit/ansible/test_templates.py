"""The shared templates, rendered by Ansible's own templar."""

import subprocess

from tests.support.templates import render


def test_a_launcher_refuses_a_command_that_it_does_not_know() -> None:
    launcher = {"name": "hdfs", "classpath": ["/x/*"], "classes": {"dfs": "org.example.Shell"}}
    script = render(
        "launcher.sh.j2",
        launcher=launcher,
        cluster_java_home="/java",
        cluster_jvm_opens_arguments="",
        __cluster_utf8="",
    )
    run = subprocess.run(["sh", "-c", script, "hdfs", "nonsense"], capture_output=True, text=True, check=False)
    assert run.returncode == 64
    assert "hdfs: unknown command 'nonsense'" in run.stderr
    assert "commands: dfs" in run.stderr
